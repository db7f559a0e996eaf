import { status, type ClientReadableStream } from '@grpc/grpc-js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  type HealthCheckResponse,
} from '../../generated/typescript/grpc/health/v1/health';
import { eventually } from '../support/eventually';
import { call, failureOf, Harness } from './harness';

const SERVICES = [
  '',
  'holdfast.v1.LockService',
  'holdfast.v1.SemaphoreService',
  'holdfast.v1.ServerService',
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

/** The states that a watch has told so far. */
function statesOf(stream: ClientReadableStream<HealthCheckResponse>): ServingStatus[] {
  const states: ServingStatus[] = [];
  stream.on('data', (message: HealthCheckResponse) => states.push(message.status));
  stream.on('error', () => undefined);
  return states;
}

test.each(SERVICES)('%j follows the store', async (service) => {
  expect(await call(client, client.check, { service })).toEqual({ status: SERVING });
  harness.store.become(false);
  expect(await call(client, client.check, { service })).toEqual({ status: NOT_SERVING });
  harness.store.become(true);
  expect(await call(client, client.check, { service })).toEqual({ status: SERVING });
});

test('a store that would lose leases is as none', async () => {
  harness.store.suitable = false;
  harness.store.become(true);
  expect(await call(client, client.check, { service: '' })).toEqual({ status: NOT_SERVING });
});

test('a quarantine takes nothing out of service but grants, for renewals have to find a server', async () => {
  const grants = statesOf(client.watch({ service: 'holdfast.grants' }));
  const whole = statesOf(client.watch({ service: '' }));
  await eventually('both to be told', () => grants.length + whole.length === 2);
  harness.store.pause({ remainingMs: 5000, cause: 'restarted' });
  await eventually('the pause to be told', () => grants.length === 2);
  for (const service of SERVICES) {
    const expected = service === 'holdfast.grants' ? NOT_SERVING : SERVING;
    expect(await call(client, client.check, { service })).toEqual({ status: expected });
  }
  harness.store.pause(undefined);
  await eventually('its end to be told', () => grants.length === 3);
  expect(grants).toEqual([SERVING, NOT_SERVING, SERVING]);
  expect(whole).toEqual([SERVING]);
});

test('a service that is not known is NOT_FOUND', async () => {
  const error = await failureOf(call(client, client.check, { service: 'holdfast.v1.Nothing' }));
  expect(error.code).toBe(status.NOT_FOUND);
});

test('lists all', async () => {
  const { statuses } = await call(client, client.list, {});
  expect(new Map([...statuses].map(([name, { status: state }]) => [name, state]))).toEqual(
    new Map(SERVICES.map((name) => [name, SERVING])),
  );
});

test.each(SERVICES)('a watch of %j tells every change, and each once', async (service) => {
  const states = statesOf(client.watch({ service }));
  await eventually('the first state', () => states.length === 1);
  harness.store.become(true);
  harness.store.become(false);
  harness.store.become(false);
  harness.store.become(true);
  await eventually('the changes', () => states.length >= 3);
  expect(states).toEqual([SERVING, NOT_SERVING, SERVING]);
});

test('a watch of a service that is not known says so, and goes on', async () => {
  const stream = client.watch({ service: 'holdfast.v1.Nothing' });
  const states = statesOf(stream);
  await eventually('the first state', () => states.length === 1);
  harness.store.become(false);
  expect(await call(client, client.check, { service: '' })).toEqual({ status: NOT_SERVING });
  expect(states).toEqual([SERVICE_UNKNOWN]);
  stream.cancel();
});

test('a store that comes back does not revive a server that drains', async () => {
  let drained: (() => void) | undefined;
  harness.engine.onDrain = () => new Promise((resolve) => (drained = resolve));
  const states = statesOf(client.watch({ service: '' }));
  await eventually('the first state', () => states.length === 1);
  const draining = harness.drain();
  await eventually('the drain to begin', () => drained);
  harness.store.become(true);
  expect(await call(client, client.check, { service: '' })).toEqual({ status: NOT_SERVING });
  drained?.();
  await draining;
  expect(states).toEqual([SERVING, NOT_SERVING]);
});
