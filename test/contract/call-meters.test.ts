import { status } from '@grpc/grpc-js';
import { HoldfastError } from '../../src/base/errors';
import { eventuallyPasses } from '../support/eventually';
import { someLease } from './fake-engines';
import { acquireRequest, call, failureOf, Harness } from './harness';

/** The counts of calls, which /metrics shows. */

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.start();
});
afterEach(() => harness.close());

/** The ended calls of a method by the name of their status. */
function handled(method: string): Record<string, number> {
  const codes = harness.meterOf(method).handled.map((count, code) => [status[code], count] as const);
  return Object.fromEntries(codes.filter(([, count]) => count > 0));
}

test('counts a call, its messages, its status and its time', async () => {
  const client = harness.locks();
  harness.permits.answers.acquire = () => Promise.resolve(someLease);
  await call(client, client.acquireLock, acquireRequest());
  harness.permits.answers.acquire = () => Promise.reject(new HoldfastError('CONTENDED', 'held'));
  await failureOf(call(client, client.acquireLock, acquireRequest()));
  const { startedCount, receivedCount, sentCount, ms } = harness.meterOf('AcquireLock');
  expect({ startedCount, receivedCount, sentCount }).toEqual({
    startedCount: 2,
    receivedCount: 2,
    sentCount: 1,
  });
  expect(handled('AcquireLock')).toEqual({ OK: 1, ABORTED: 1 });
  expect(ms?.counts.reduce((sum, count) => sum + count)).toBe(2);
});

test('counts a call that its client cancels once, as CANCELLED', async () => {
  const client = harness.locks();
  harness.permits.answers.acquire = (given) =>
    new Promise((_resolve, reject) => given.onCancelled(() => reject(new Error('cancelled'))));
  const pending = client.acquireLock(acquireRequest(), () => undefined);
  await eventuallyPasses('the call arrives', () =>
    expect(harness.meterOf('AcquireLock').startedCount).toBe(1),
  );
  pending.cancel();
  await eventuallyPasses('the call is counted', () =>
    expect(handled('AcquireLock')).toEqual({ CANCELLED: 1 }),
  );
  await harness.close();
  expect(handled('AcquireLock')).toEqual({ CANCELLED: 1 });
});

test('counts the messages of a stream, and not its time', async () => {
  const stream = harness.health().watch({ service: '' });
  stream.on('error', () => undefined);
  await eventuallyPasses('the state is sent', () => expect(harness.meterOf('Watch').sentCount).toBe(1));
  stream.cancel();
  await eventuallyPasses('the end is counted', () => expect(handled('Watch')).toEqual({ CANCELLED: 1 }));
  expect(harness.meterOf('Watch').ms).toBeUndefined();
});

test('has a meter for each method from the start', () => {
  expect(harness.meterOf('OpenSession')).toMatchObject({ type: 'bidi_stream', startedCount: 0 });
  expect(harness.meterOf('ImportDictionary').type).toBe('client_stream');
  expect(harness.meterOf('HoldLock').type).toBe('server_stream');
});
