import { Locks } from '../../examples/marketplace/locks';
import { Servers } from '../../examples/worker-typescript/servers';
import type { AcquireRequest } from '../../src/engine/leases/requests';
import { HoldfastError } from '../../src/engine/errors';
import { someLease } from '../contract/fake-engines';
import { Harness } from '../contract/harness';

const SETTINGS = { holderId: 'alice', ttlMs: 5000, waitMs: 1000 };

let harness: Harness;
let servers: Servers;
let asked: AcquireRequest[];

/** What the server answers to one acquire after the other; the last one is repeated. */
function answers(...reasons: (ConstructorParameters<typeof HoldfastError>[0] | 'granted')[]): void {
  harness.permits.answers.acquire = (_call, _service, request) => {
    asked.push(request);
    const reason = reasons[Math.min(asked.length, reasons.length) - 1] ?? 'granted';
    return reason === 'granted'
      ? Promise.resolve(someLease)
      : Promise.reject(new HoldfastError(reason, reason));
  };
}

beforeAll(async () => {
  harness = await Harness.start();
  servers = new Servers([harness.target]);
});
beforeEach(() => (asked = []));
afterAll(async () => {
  servers.close();
  await harness.close();
});

test('a call whose outcome is unknown is made again under the same request_id', async () => {
  answers('OUTCOME_UNKNOWN', 'DRAINING', 'granted');
  const locks = new Locks(servers, SETTINGS);
  await expect(locks.acquire('hello')).resolves.toMatchObject({ token: someLease.fencingToken });
  expect(asked).toHaveLength(3);
  expect(asked[0]?.requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(asked.map(({ requestId }) => requestId)).size).toBe(1);
  expect(locks.resent).toBe(2);
});

test('another wish has another request_id', async () => {
  answers('granted');
  const locks = new Locks(servers, SETTINGS);
  await locks.acquire('hello');
  await locks.acquire('hello');
  expect(new Set(asked.map(({ requestId }) => requestId)).size).toBe(2);
});

test.each(['CONTENDED', 'REQUEST_FINISHED'] as const)(
  '%s is an answer, and not asked about again',
  async (reason) => {
    answers(reason);
    const locks = new Locks(servers, SETTINGS);
    await expect(locks.acquire('hello')).resolves.toBeUndefined();
    expect(asked).toHaveLength(1);
    expect(locks.resent).toBe(0);
  },
);

test('is given up where the store stays away', async () => {
  answers('STORE_UNAVAILABLE');
  await expect(new Locks(servers, SETTINGS).acquire('hello')).resolves.toBeUndefined();
  expect(asked.length).toBeGreaterThan(1);
});

test('a mistake is thrown, and not asked about again', async () => {
  answers('INVALID_FIELD');
  await expect(new Locks(servers, SETTINGS).acquire('hello')).rejects.toThrow('[INVALID_FIELD]');
  expect(asked).toHaveLength(1);
});

test('goes on at the next server where one does not answer', async () => {
  answers('granted');
  const two = new Servers(['127.0.0.1:1', harness.target]);
  const locks = new Locks(two, SETTINGS);
  const held = await locks.acquire('hello');
  expect(held).toMatchObject({ leaseId: someLease.leaseId });
  // The lease says 29.98 s; the answer's ttl of 30 s is further away.
  expect(held?.until).toBeLessThanOrEqual(performance.now() + 30_000);
  expect(held?.until).toBeGreaterThan(performance.now());
  await expect(locks.release(held!)).resolves.toBe(true);
  two.close();
});
