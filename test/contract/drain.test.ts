import type { ServerHttp2Session } from 'node:http2';
import { type ClientReadableStream, status } from '@grpc/grpc-js';
import { holdfastError } from '../../clients/typescript';
import {
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../generated/typescript/grpc/health/v1/health';
import { ServerReflectionClient } from '../../generated/typescript/grpc/reflection/v1/reflection';
import { HoldfastError } from '../../src/base/errors';
import { eventually } from '../support/eventually';
import { Stopwatch } from '../support/stopwatch';
import { expectSixteenStreams } from './bounded-streams';
import { someLease } from './fake-engines';
import { acquireRequest, call, drainStream, failureOf, Harness, UUID_V4 } from './harness';
import { RawConnection } from './raw-call';

describe('a drain', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await Harness.start();
  });
  afterEach(() => harness.close());

  function openHold(client: ReturnType<Harness['locks']>) {
    return client.holdLock({ start: { $case: 'acquire', value: acquireRequest({ requestId: UUID_V4 }) } });
  }

  test('a drain reports NOT_SERVING, then ends streams with DRAINING, then closes the server', async () => {
    const order: string[] = [];
    const client = harness.locks();
    const health = harness.health();
    const streams: ((error: Error) => void)[] = [];
    harness.permits.answers.hold = (_call, _service, _start, sink) => {
      sink.send({ kind: 'granted', lease: someLease });
      return new Promise((_resolve, reject) => streams.push(reject));
    };
    harness.permits.onDrain = async () => {
      const { status: state } = await call(health, health.check, { service: '' });
      order.push(`health ${state}`);
      for (const end of streams) end(new HoldfastError('DRAINING', 'stopping'));
    };
    const held = drainStream(openHold(client)).then((end) => {
      order.push('stream ended');
      return end;
    });
    const watch = drainStream(health.watch({ service: '' }));
    await eventually('the stream to open', () => streams.length === 1);

    const stopwatch = new Stopwatch();
    await harness.drain(10_000);
    order.push('closed');
    // The open health watch does not delay the drain until the drain timeout.
    expect(stopwatch.chargedMs).toBeLessThan(2000);
    expect(order).toEqual(['health 2', 'stream ended', 'closed']);
    const { messages, error } = await held;
    expect(messages).toHaveLength(1);
    expect(error?.code).toBe(status.UNAVAILABLE);
    expect(holdfastError(error)?.reason).toBe('DRAINING');
    expect((await watch).error?.code).toBe(status.UNAVAILABLE);
  });

  test('a drain waits for the answer of a call in flight', async () => {
    const client = harness.locks();
    let answer: (() => void) | undefined;
    harness.permits.answers.acquire = () => new Promise((resolve) => (answer = () => resolve(someLease)));
    const pending = call(client, client.acquireLock, acquireRequest());
    await eventually('the call to arrive', () => answer);
    const drained = harness.drain(10_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    answer?.();
    expect((await pending).lease?.name).toBe('hello');
    await drained;
  });

  test('a drain does not wait for an open reflection stream', async () => {
    const stream = harness.client(ServerReflectionClient).serverReflectionInfo();
    const ended = new Promise<number>((resolve) => {
      stream.on('error', (error: { code: number }) => resolve(error.code));
    });
    stream.write({ host: '', messageRequest: { $case: 'listServices', value: '' } });
    await new Promise((resolve) => stream.once('data', resolve));
    const stopwatch = new Stopwatch();
    await harness.drain(10_000);
    expect(stopwatch.chargedMs).toBeLessThan(2000);
    expect(await ended).toBe(status.UNAVAILABLE);
  });

  test('a drain closes open connections after the drain timeout, and logs warnings', async () => {
    const client = harness.locks();
    harness.permits.answers.hold = () => new Promise(() => undefined);
    harness.permits.onDrain = () => new Promise(() => undefined);
    const stream = openHold(client);
    const ended = drainStream(stream);
    await eventually('the stream to open', () => harness.permits.calls.length === 1);
    const stopwatch = new Stopwatch();
    await harness.drain(300);
    expect(stopwatch.elapsedMs).toBeGreaterThan(290);
    expect(stopwatch.chargedMs).toBeLessThan(2000);
    expect((await ended).error).toBeDefined();
    expect(harness.logged.map(({ level }) => level)).toEqual(['warn', 'warn']);
  });

  test('a drain does not wait for a connection that is already closing', async () => {
    const client = harness.locks();
    let connection: ServerHttp2Session | undefined;
    harness.permits.answers.acquire = (given) => {
      connection = given.connection as ServerHttp2Session;
      return Promise.resolve(someLease);
    };
    await call(client, client.acquireLock, acquireRequest());
    harness.permits.onDrain = () => {
      connection?.destroy();
      return Promise.resolve();
    };
    const stopwatch = new Stopwatch();
    await harness.drain(10_000);
    expect(stopwatch.chargedMs).toBeLessThan(2000);
    expect(harness.logged).toEqual([]);
  });

  test('a drain completes even if the engine fails to drain, and logs the error', async () => {
    harness.permits.onDrain = () => Promise.reject(new Error('no'));
    await harness.drain(10_000);
    expect(harness.logged).toMatchObject([{ level: 'error', fields: { err: { message: 'no' } } }]);
  });

  test('a drained server does not listen any more', async () => {
    const client = harness.locks();
    await harness.drain();
    const error = await failureOf(
      call(client, client.acquireLock, acquireRequest(), { deadline: Date.now() + 3000 }),
    );
    expect(error.code).toBe(status.UNAVAILABLE);
  });
});

describe('health', () => {
  const SERVICES = [
    '',
    'holdfast.v1.LockService',
    'holdfast.v1.SemaphoreService',
    'holdfast.v1.ServerService',
    'holdfast.v1.SessionService',
    'holdfast.v1.AutocompleteService',
    'holdfast.grants',
  ];
  const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = ServingStatus;

  let harness: Harness;
  let client: ReturnType<Harness['health']>;
  beforeEach(async () => {
    harness = await Harness.start();
    client = harness.health();
  });
  afterEach(() => harness.close());

  /** The states that a watch has sent so far. The list grows. */
  function statesOf(stream: ClientReadableStream<HealthCheckResponse>): ServingStatus[] {
    const states: ServingStatus[] = [];
    stream.on('data', (message: HealthCheckResponse) => states.push(message.status));
    stream.on('error', () => undefined);
    return states;
  }

  test.each(SERVICES)('Check of %j answers NOT_SERVING while the store is unreachable', async (service) => {
    expect(await call(client, client.check, { service })).toEqual({ status: SERVING });
    harness.store.setReachable(false);
    expect(await call(client, client.check, { service })).toEqual({ status: NOT_SERVING });
    harness.store.setReachable(true);
    expect(await call(client, client.check, { service })).toEqual({ status: SERVING });
  });

  test('Check answers NOT_SERVING while the store is unsuitable', async () => {
    harness.store.suitable = false;
    harness.store.setReachable(true);
    expect(await call(client, client.check, { service: '' })).toEqual({ status: NOT_SERVING });
  });

  test('during a quarantine only holdfast.grants is NOT_SERVING', async () => {
    const grants = statesOf(client.watch({ service: 'holdfast.grants' }));
    const whole = statesOf(client.watch({ service: '' }));
    await eventually('both first states', () => grants.length + whole.length === 2);
    harness.store.setQuarantine({ remainingMs: 5000, cause: 'restarted' });
    await eventually('the quarantine', () => grants.length === 2);
    for (const service of SERVICES) {
      const expected = service === 'holdfast.grants' ? NOT_SERVING : SERVING;
      expect(await call(client, client.check, { service })).toEqual({ status: expected });
    }
    harness.store.setQuarantine(undefined);
    await eventually('the end of the quarantine', () => grants.length === 3);
    expect(grants).toEqual([SERVING, NOT_SERVING, SERVING]);
    expect(whole).toEqual([SERVING]);
  });

  test('while dictionaries are loaded at the start, the whole server and AutocompleteService are NOT_SERVING', async () => {
    const whole = statesOf(client.watch({ service: '' }));
    const locks = statesOf(client.watch({ service: 'holdfast.v1.LockService' }));
    await eventually('both first states', () => whole.length + locks.length === 2);
    harness.setLoading(true);
    await eventually('the begin of the load', () => whole.length === 2);
    for (const service of SERVICES) {
      const isLoading = service === '' || service === 'holdfast.v1.AutocompleteService';
      const expected = isLoading ? NOT_SERVING : SERVING;
      expect(await call(client, client.check, { service })).toEqual({ status: expected });
    }
    harness.setLoading(false);
    await eventually('the end of the load', () => whole.length === 3);
    expect(whole).toEqual([SERVING, NOT_SERVING, SERVING]);
    expect(locks).toEqual([SERVING]);
  });

  test('Check answers NOT_FOUND for an unknown service', async () => {
    const error = await failureOf(call(client, client.check, { service: 'holdfast.v1.Nothing' }));
    expect(error.code).toBe(status.NOT_FOUND);
  });

  test('List answers with the state of every service', async () => {
    const { statuses } = await call(client, client.list, {});
    expect(new Map([...statuses].map(([name, { status: state }]) => [name, state]))).toEqual(
      new Map(SERVICES.map((name) => [name, SERVING])),
    );
  });

  test.each(SERVICES)('Watch of %j sends every change of the state once', async (service) => {
    const states = statesOf(client.watch({ service }));
    await eventually('the first state', () => states.length === 1);
    harness.store.setReachable(true);
    harness.store.setReachable(false);
    harness.store.setReachable(false);
    harness.store.setReachable(true);
    await eventually('the changes', () => states.length >= 3);
    expect(states).toEqual([SERVING, NOT_SERVING, SERVING]);
  });

  test('Watch of an unknown service sends SERVICE_UNKNOWN and stays open', async () => {
    const stream = client.watch({ service: 'holdfast.v1.Nothing' });
    const states = statesOf(stream);
    await eventually('the first state', () => states.length === 1);
    harness.store.setReachable(false);
    expect(await call(client, client.check, { service: '' })).toEqual({ status: NOT_SERVING });
    expect(states).toEqual([SERVICE_UNKNOWN]);
    stream.cancel();
  });

  test('Watch sends no SERVING during a drain, even if the store recovers', async () => {
    let drained: (() => void) | undefined;
    harness.permits.onDrain = () => new Promise((resolve) => (drained = resolve));
    const states = statesOf(client.watch({ service: '' }));
    await eventually('the first state', () => states.length === 1);
    const draining = harness.drain();
    await eventually('the drain to begin', () => drained);
    harness.store.setReachable(true);
    expect(await call(client, client.check, { service: '' })).toEqual({ status: NOT_SERVING });
    drained?.();
    await draining;
    expect(states).toEqual([SERVING, NOT_SERVING]);
  });

  test('one connection has at most 16 open health watches, until one of them ends', () =>
    expectSixteenStreams(
      '/grpc.health.v1.Health/Watch',
      { halfClose: true },
      new RawConnection(harness.target),
      new RawConnection(harness.target),
    ));
});
