import { status, type ClientReadableStream } from '@grpc/grpc-js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  type HealthCheckResponse,
} from '../../generated/typescript/grpc/health/v1/health';
import { eventually } from '../support/eventually';
import { expectSixteenStreams } from './bounded-streams';
import { RawConnection } from './raw-call';
import { call, failureOf, Harness } from './harness';

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
