import { Locks } from '../../examples/marketplace/locks';
import { Servers } from '../../examples/marketplace/servers';
import type { AcquireRequest } from '../../src/engine/leases/requests';
import { HoldfastError } from '../../src/engine/errors';
import { leaseFor, someLease } from '../contract/fake-engines';
import { Harness } from '../contract/harness';

const SETTINGS = { holderId: 'alice', ttlMs: 5000, waitMs: 1000 };

let harness: Harness;
let servers: Servers;
let requests: AcquireRequest[];

/** Sets the server's answers to the next acquires. The server repeats the last answer. */
function setAnswers(...reasons: (ConstructorParameters<typeof HoldfastError>[0] | 'granted')[]): void {
  harness.permits.answers.acquire = (call, _service, request) => {
    requests.push(request);
    const reason = reasons[Math.min(requests.length, reasons.length) - 1] ?? 'granted';
    return reason === 'granted'
      ? Promise.resolve(leaseFor(call))
      : Promise.reject(new HoldfastError(reason, reason));
  };
}

beforeAll(async () => {
  harness = await Harness.start();
  servers = new Servers([harness.target]);
});
beforeEach(() => (requests = []));
afterAll(async () => {
  servers.close();
  await harness.close();
});

test('Locks of the marketplace repeats a call with an unknown outcome under the same request_id', async () => {
  setAnswers('OUTCOME_UNKNOWN', 'DRAINING', 'granted');
  const locks = new Locks(servers, SETTINGS);
  await expect(locks.acquire('hello')).resolves.toMatchObject({ token: someLease.fencingToken });
  expect(requests).toHaveLength(3);
  expect(requests[0]?.requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(1);
  expect(locks.retryCount).toBe(2);
});

test('Locks of the marketplace gives each acquire its own request_id', async () => {
  setAnswers('granted');
  const locks = new Locks(servers, SETTINGS);
  await locks.acquire('hello');
  await locks.acquire('hello');
  expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(2);
});

test.each(['CONTENDED', 'REQUEST_FINISHED'] as const)(
  'Locks of the marketplace does not repeat an acquire after %s',
  async (reason) => {
    setAnswers(reason);
    const locks = new Locks(servers, SETTINGS);
    await expect(locks.acquire('hello')).resolves.toBeUndefined();
    expect(requests).toHaveLength(1);
    expect(locks.retryCount).toBe(0);
  },
);

test('Locks of the marketplace gives up if the store stays unavailable', async () => {
  setAnswers('STORE_UNAVAILABLE');
  await expect(new Locks(servers, SETTINGS).acquire('hello')).resolves.toBeUndefined();
  expect(requests.length).toBeGreaterThan(1);
});

test('Locks of the marketplace throws INVALID_FIELD without a retry', async () => {
  setAnswers('INVALID_FIELD');
  await expect(new Locks(servers, SETTINGS).acquire('hello')).rejects.toThrow('[INVALID_FIELD]');
  expect(requests).toHaveLength(1);
});

test('Locks of the marketplace calls the next server when a server does not answer', async () => {
  setAnswers('granted');
  const two = new Servers(['127.0.0.1:1', harness.target]);
  const locks = new Locks(two, SETTINGS);
  const held = await locks.acquire('hello');
  expect(held).toMatchObject({ leaseId: someLease.leaseId });
  // The deadline is 29.98 s after the call: the ttl of 30 s less the margin of the expire_offset.
  expect(held?.until).toBeLessThanOrEqual(performance.now() + 30_000);
  expect(held?.until).toBeGreaterThan(performance.now());
  await expect(locks.release(held!)).resolves.toBe(true);
  two.close();
});
