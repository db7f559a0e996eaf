import type { Tracer } from '@opentelemetry/api';
import { Spans } from '../../src/server/tracing';
import { RecordedSpans } from '../support/recorded-spans';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${PARENT}-01`;
const ended = {
  service: 'holdfast.v1.LockService',
  method: 'GetLock',
  code: 0,
  reason: undefined,
  traceparent: undefined,
};

test('the span of a call has the times of the call, its method and its status', () => {
  const recorded = new RecordedSpans();
  const endedAt = performance.now();
  recorded.spans.ended({ ...ended, startedAt: endedAt - 250, endedAt });
  const [span] = recorded.all;
  expect(span).toMatchObject({
    name: 'holdfast.v1.LockService/GetLock',
    attributes: {
      'rpc.system': 'grpc',
      'rpc.service': 'holdfast.v1.LockService',
      'rpc.method': 'GetLock',
      'rpc.grpc.status_code': 0,
    },
    isError: false,
    parent: '',
  });
  expect(span?.durationMs).toBeCloseTo(250, 0);
});

test('the traceparent of the caller is the parent of a span', () => {
  const recorded = new RecordedSpans();
  recorded.spans.ended({ ...ended, traceparent, startedAt: 1, endedAt: 2 });
  recorded.spans.released({ traceparent }, 'lock');
  expect(recorded.all).toMatchObject([
    { traceId: TRACE, parent: PARENT },
    { traceId: TRACE, parent: PARENT },
  ]);
});

test('a caller that does not sample its trace gets no recorded span', () => {
  const recorded = new RecordedSpans();
  recorded.spans.released({ traceparent: `00-${TRACE}-${PARENT}-00` }, 'lock');
  expect(recorded.all).toEqual([]);
});

test.each([
  [10, 'CONTENDED', false],
  [14, 'STORE_UNAVAILABLE', true],
  [4, undefined, true],
])('a call with status %d and reason %s is an error of the server: %s', (code, reason, isError) => {
  const recorded = new RecordedSpans();
  recorded.spans.ended({ ...ended, code, reason, startedAt: 1, endedAt: 2 });
  const [span] = recorded.all;
  expect(span?.isError).toBe(isError);
  expect(span?.attributes['holdfast.reason']).toBe(reason);
});

test('a grant has the time since the arrival of its request, and a loss has its cause and no length', () => {
  const recorded = new RecordedSpans();
  recorded.spans.granted({}, 'semaphore', performance.now() - 3000);
  recorded.spans.lost({}, 'semaphore', 'revoked');
  const [grant, loss] = recorded.all;
  expect(grant).toMatchObject({ name: 'lease grant', attributes: { 'holdfast.service': 'semaphore' } });
  expect(grant?.durationMs).toBeGreaterThanOrEqual(3000);
  expect(loss).toMatchObject({
    name: 'lease loss',
    attributes: { 'holdfast.service': 'semaphore', 'holdfast.cause': 'revoked' },
    isError: true,
    durationMs: 0,
  });
});

test('an error of the SDK reaches no caller, is reported once, and ends the spans', () => {
  let count = 0;
  const tracer = {
    startSpan: () => {
      count += 1;
      throw new Error('broken');
    },
  } as unknown as Tracer;
  const errors: unknown[] = [];
  const spans = new Spans(
    tracer,
    () => 0,
    (error) => errors.push(error),
  );
  spans.released({}, 'lock');
  spans.released({}, 'lock');
  expect([errors, count]).toEqual([[new Error('broken')], 1]);
});
