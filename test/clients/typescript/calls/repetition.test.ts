import { status } from '@grpc/grpc-js';
import { toMs } from '../../../../clients/typescript/time-span';
import { attemptMs, timeoutOf } from '../../../../clients/typescript/calls/call-options';
import { isBroken, Repetition } from '../../../../clients/typescript/calls/repetition';
import { errorOf, type HoldfastError } from '../../../../clients/typescript/errors';

function failure(code: number, reason = '', retryAfterMs?: number): HoldfastError {
  return errorOf('no', { code, reason, retryAfterMs });
}

const isRepeated = (error: HoldfastError, isIdempotent: boolean) =>
  new Repetition(isIdempotent).pauseAfter(error) !== undefined;

test.each([
  ['OVERLOADED', failure(status.RESOURCE_EXHAUSTED, 'OVERLOADED'), true, true],
  ['DRAINING', failure(status.UNAVAILABLE, 'DRAINING'), true, true],
  ['OUTCOME_UNKNOWN', failure(status.UNAVAILABLE, 'OUTCOME_UNKNOWN'), true, false],
  ['UNAVAILABLE with an unknown reason', failure(status.UNAVAILABLE, 'MOON_IS_FULL'), true, false],
  ['a broken connection', failure(status.UNAVAILABLE), true, false],
  ['no answer in time', failure(status.DEADLINE_EXCEEDED), true, false],
  ['a reset stream', failure(status.INTERNAL), true, false],
  ['INTERNAL with a reason', failure(status.INTERNAL, 'INTERNAL'), false, false],
  ['INVALID_FIELD', failure(status.INVALID_ARGUMENT, 'INVALID_FIELD'), false, false],
  ['UNIMPLEMENTED', failure(status.UNIMPLEMENTED), false, false],
])('repeats after %s only if a repetition helps', (_, error, ifIdempotent, otherwise) => {
  expect([isRepeated(error, true), isRepeated(error, false)]).toEqual([ifIdempotent, otherwise]);
});

test('repeats a refused credential once, at once, until an answer comes', () => {
  const repetition = new Repetition(false);
  const refused = failure(status.UNAUTHENTICATED, 'BAD_CREDENTIAL');
  expect([repetition.pauseAfter(refused), repetition.pauseAfter(refused)]).toEqual([0, undefined]);
  repetition.answered();
  expect(repetition.pauseAfter(refused)).toBe(0);
});

test('repeats a call that was not sent, whatever its error says', () => {
  const repetition = new Repetition(false);
  const noToken = failure(status.UNAUTHENTICATED, 'NO_CREDENTIAL');
  for (let n = 0; n < 3; n++) expect(repetition.pauseAfter(noToken, false)).toBeGreaterThan(0);
});

test('repeats INTERNAL without a reason once, because a message that cannot be encoded has this code', () => {
  const repetition = new Repetition(true);
  expect(repetition.pauseAfter(failure(status.INTERNAL))).toBeDefined();
  expect(repetition.pauseAfter(failure(status.INTERNAL))).toBeUndefined();
});

test('heeds the delay of the server', () => {
  expect(
    new Repetition(true).pauseAfter(failure(status.UNAVAILABLE, 'DRAINING', 700)),
  ).toBeGreaterThanOrEqual(700);
});

test('only a connection without an answer is broken', () => {
  expect(isBroken(failure(status.DEADLINE_EXCEEDED))).toBe(true);
  expect(isBroken(failure(status.RESOURCE_EXHAUSTED, 'OVERLOADED'))).toBe(false);
});

test('an attempt of a repeatable call leaves time for the next attempt', () => {
  expect(attemptMs(10_000, true)).toBe(6000);
  expect(attemptMs(1500, true)).toBe(1000);
  expect(attemptMs(300, true)).toBe(300);
  expect(attemptMs(10_000, false)).toBe(10_000);
});

test('a timeout is a time span, 10 s by default', () => {
  expect([timeoutOf({}), timeoutOf({ timeout: '30s' }), timeoutOf({ timeout: 5 })]).toEqual([
    10_000,
    toMs('30s', 'timeout'),
    5,
  ]);
  expect(() => timeoutOf({ timeout: 'soon' })).toThrow('timeout must be milliseconds');
});
