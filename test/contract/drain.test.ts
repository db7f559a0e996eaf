import type { ServerHttp2Session } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { ServerReflectionClient } from '../../generated/typescript/grpc/reflection/v1/reflection';
import { holdfastError } from '../../clients/typescript';
import { HoldfastError } from '../../src/base/errors';
import { eventually } from '../support/eventually';
import { Stopwatch } from '../support/stopwatch';
import { someLease } from './fake-engines';
import { acquireRequest, call, drainStream, failureOf, Harness, UUID_V4 } from './harness';

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
