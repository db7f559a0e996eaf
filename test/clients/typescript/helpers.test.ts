import { getEventListeners } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Metadata, status } from '@grpc/grpc-js';
import { deadline, duration, holdfastError, InvalidRequestError } from '../../../clients/typescript';
import { checkedSignal, either, onAbort } from '../../../clients/typescript/calls/abort';
import { SuspendAwareClock } from '../../../clients/typescript/clock';
import { channelCredentials, type TlsOptions } from '../../../clients/typescript/connection/tls';
import { durationToMs } from '../../../clients/typescript/duration';
import { NUMBERS } from '../../../clients/typescript/numbers';
import { encodeStatusDetails } from '../../../src/rpc/call-errors';
import { Authority, type Issued } from '../../support/certificates';
import { ROOT } from '../../support/root';
import { scratchFolder } from '../../support/scratch-folder';

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

describe('an abort', () => {
  const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

  test('a signal has one listener for all waits, and none after them', () => {
    const { signal } = new AbortController();
    const removals = Array.from({ length: 1000 }, () => onAbort(signal, () => undefined));
    expect(listenersOf(signal)).toBe(1);
    removals.forEach((remove) => remove());
    expect(listenersOf(signal)).toBe(0);
  });

  test('an abort calls each function once, and no function that was removed', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const calls: string[] = [];
    const same = () => void calls.push('same');
    onAbort(signal, same);
    onAbort(signal, same);
    const remove = onAbort(signal, () => void calls.push('removed'));
    onAbort(signal, () => void calls.push('last'));
    remove();
    controller.abort();
    onAbort(signal, () => void calls.push('after'));
    expect(calls).toEqual(['same', 'same', 'last', 'after']);
  });

  test('a signal that has aborted keeps no function, and calls none that an earlier one has removed', () => {
    const controller = new AbortController();
    const calls: string[] = [];
    onAbort(controller.signal, () => {
      calls.push('first');
      remove();
    });
    const remove = onAbort(controller.signal, () => void calls.push('removed'));
    controller.abort();
    controller.signal.dispatchEvent(new Event('abort'));
    expect(calls).toEqual(['first']);
  });

  test('a second removal does not remove a later function', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const remove = onAbort(signal, () => undefined);
    remove();
    const later = jest.fn();
    onAbort(signal, later);
    remove();
    onAbort(signal, later);
    expect(listenersOf(signal)).toBe(1);
    controller.abort();
    expect(later).toHaveBeenCalledTimes(2);
  });

  test('a value that is no AbortSignal is refused, and the error names the option', () => {
    for (const value of [null, 'now', 5, {}, new AbortController(), Symbol('stop')]) {
      const signal = value as AbortSignal;
      expect(() => checkedSignal(signal)).toThrow(InvalidRequestError);
      expect(() => either(signal, new AbortController().signal)).toThrow('signal must be an AbortSignal');
    }
  });
});

function clocks() {
  const times = { monotonic: 1000, sinceBoot: 500_000 };
  const clock = new SuspendAwareClock(
    () => times.monotonic,
    () => times.sinceBoot,
  );
  return { times, clock };
}

describe('the clock of the client', () => {
  test('is the monotonic clock while the machine runs', () => {
    const { times, clock } = clocks();
    times.monotonic += 5000;
    times.sinceBoot += 5000;
    expect(clock.now()).toBe(6000);
  });

  test('counts the time of a suspend once', () => {
    const { times, clock } = clocks();
    times.monotonic += 20;
    times.sinceBoot += 60_020;
    expect(clock.now()).toBe(61_020);
    times.monotonic += 100;
    times.sinceBoot += 100;
    expect(clock.now()).toBe(61_120);
  });

  test('counts a suspend that ended just now for a caller that wants to rely on a lease', () => {
    const { times, clock } = clocks();
    times.monotonic += 20;
    times.sinceBoot += 20;
    clock.now();
    times.monotonic += 1;
    times.sinceBoot += 60_001;
    expect(clock.exactNow()).toBe(61_021);
    expect(clock.now()).toBe(61_021);
  });

  test('counts several suspends', () => {
    const { times, clock } = clocks();
    for (let round = 0; round < 3; round++) {
      times.monotonic += 1000;
      times.sinceBoot += 11_000;
      clock.now();
    }
    expect(clock.now()).toBe(1000 + 33_000);
  });

  test('never goes back, and takes the resolution of the uptime for no suspend', () => {
    const { times, clock } = clocks();
    let before = clock.now();
    for (let step = 0; step < 100; step++) {
      times.monotonic += 15;
      times.sinceBoot += step % 2 === 0 ? 50 : -20;
      const now = clock.now();
      expect(now).toBeGreaterThanOrEqual(before);
      before = now;
    }
    expect(before).toBe(times.monotonic);
  });

  test('is the monotonic clock where the platform has no clock that counts a suspend', () => {
    expect(new SuspendAwareClock(() => 7, undefined).now()).toBe(7);
  });
});

describe('shared numbers', () => {
  const shared: unknown = JSON.parse(readFileSync(join(ROOT, 'clients', 'numbers.json'), 'utf8'));

  /** The keys as the shared file spells them. */
  function withSharedKeys(value: unknown): unknown {
    if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        withSharedKeys(inner),
      ]),
    );
  }

  test('the numbers of the TypeScript client are those of all clients', () => {
    expect(withSharedKeys(NUMBERS)).toEqual(shared);
  });
});

describe('certificates of a client', () => {
  let folder: string;
  let wrong: string;
  let issued: Issued;

  beforeAll(() => {
    folder = scratchFolder();
    wrong = join(folder, 'wrong.pem');
    writeFileSync(wrong, 'neither a certificate nor a key');
    issued = new Authority(folder).issueForServer();
  });

  const read = (tls: TlsOptions) => () => channelCredentials(tls);

  test('a certificate and its key are read', () => {
    expect(read({ ca: issued.cert, cert: issued.cert, key: issued.key })).not.toThrow();
  });

  test('bytes of any kind are read', () => {
    const [ca, cert, key] = [issued.cert, issued.cert, issued.key].map((path) =>
      Uint8Array.from(readFileSync(path)),
    );
    expect(read({ ca, cert, key })).not.toThrow();
  });

  test('the error names the file that has no certificate or no key', () => {
    const { cert, key } = issued;
    expect(read({ ca: wrong })).toThrow(`${wrong} has no certificate in PEM`);
    expect(read({ cert: wrong, key })).toThrow(`${wrong} has no certificate in PEM`);
    expect(read({ cert, key: wrong })).toThrow(`${wrong} has no private key in PEM`);
    expect(read({ cert, key: join(folder, 'none.key') })).toThrow('none.key');
  });

  test('the error does not show a key that was given as a text', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n';
    expect(read({ cert: issued.cert, key })).toThrow('the given text has no private key in PEM');
    // A secret of Kubernetes is in base64, and looks like a long path.
    const encoded = Buffer.from(key.repeat(5)).toString('base64');
    expect(read({ cert: issued.cert, key: encoded })).toThrow(
      'the given text is no PEM, and no file (ENAMETOOLONG)',
    );
  });
});
