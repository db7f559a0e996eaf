import { Metadata, status } from '@grpc/grpc-js';
import { deadline, duration, holdfastError } from '../../../clients/typescript';
import { durationToMs } from '../../../clients/typescript/duration';
import { encodeStatusDetails } from '../../../src/rpc/call-errors';

describe('duration()', () => {
  test.each([
    [0, 0n, 0],
    [30_000, 30n, 0],
    [1500.25, 1n, 500_250_000],
    [0.000_4, 0n, 400],
    [-250, 0n, -250_000_000],
    [2 ** 40, 1_099_511_627n, 776_000_000],
  ])('converts %s ms to %s s and %s ns', (ms, seconds, nanos) => {
    expect(duration(ms)).toEqual({ seconds, nanos });
    expect(durationToMs(duration(ms))).toBeCloseTo(ms, 6);
  });

  test.each([NaN, Infinity])('refuses %s (chapter 27)', (ms) => {
    expect(() => duration(ms)).toThrow(RangeError);
  });
});

describe('deadline()', () => {
  test('returns t0 + expire_offset for a quick answer', () => {
    expect(deadline(1000, duration(29_900), duration(30_000), 1005)).toBe(30_900);
  });

  test('returns receipt + ttl for an answer after a long wait', () => {
    expect(deadline(1000, duration(90_000), duration(30_000), 1005)).toBe(31_005);
  });

  test('uses the present time if no time of receipt is given', () => {
    const before = performance.now();
    const until = deadline(before, duration(1e9), duration(500));
    expect(until).toBeGreaterThanOrEqual(before + 500);
    expect(until).toBeLessThanOrEqual(performance.now() + 500);
  });

  test.each([
    [undefined, duration(1000)],
    [duration(1000), undefined],
    [{ seconds: 1n, nanos: -1 }, duration(1000)],
  ])('returns -Infinity for a lease with the expire_offset %p and the ttl %p', (offset, ttl) => {
    expect(deadline(1000, offset, ttl, 1000)).toBe(-Infinity);
  });
});

describe('holdfastError()', () => {
  const details = encodeStatusDetails({
    code: status.ABORTED,
    message: 'held [CONTENDED]',
    reason: 'CONTENDED',
    domain: 'holdfast',
    metadata: new Map([['holder_id', 'alice']]),
    retryAfterMs: 2500,
    violations: [],
  });

  function serviceError(trailers: Record<string, string | Buffer>): Error {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
    return Object.assign(new Error('10 ABORTED: …'), { code: status.ABORTED, details: '…', metadata });
  }

  test('reads the details of a status', () => {
    const error = serviceError({ 'grpc-status-details-bin': Buffer.from(details) });
    expect(holdfastError(error)).toEqual({
      reason: 'CONTENDED',
      metadata: new Map([['holder_id', 'alice']]),
      retryAfterMs: 2500,
      violations: [],
    });
  });

  test.each([
    ['missing', {}],
    ['malformed', { 'grpc-status-details-bin': Buffer.from('nonsense') }],
  ])('reads reason and retry delay from the trailers when the details are %s', (_title, more) => {
    const error = serviceError({ 'holdfast-reason': 'DRAINING', 'grpc-retry-pushback-ms': '100', ...more });
    expect(holdfastError(error)).toMatchObject({ reason: 'DRAINING', retryAfterMs: 100, violations: [] });
  });

  test('returns undefined for the details of another service', () => {
    const foreign = encodeStatusDetails({
      code: 10,
      message: '',
      reason: 'CONTENDED',
      domain: 'example.com',
      metadata: new Map(),
      retryAfterMs: undefined,
      violations: [],
    });
    expect(holdfastError(serviceError({ 'grpc-status-details-bin': Buffer.from(foreign) }))).toBeUndefined();
  });

  test.each([
    ['an error of the gRPC library', serviceError({})],
    ['an error outside gRPC', new Error('no')],
    ['an error with another kind of metadata', Object.assign(new Error('no'), { metadata: { reason: 'x' } })],
    ['an error with null metadata', Object.assign(new Error('no'), { metadata: null })],
    ['undefined', undefined],
    ['a text', 'CONTENDED'],
  ])('returns undefined for %s', (_title, error) => {
    expect(holdfastError(error)).toBeUndefined();
  });
});
