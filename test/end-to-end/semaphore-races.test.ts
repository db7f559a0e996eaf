import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import { refusal } from '../support/clients/calls';
import type { SemaphoreClient } from '../support/clients/lease-client';
import { ServerPair } from './server-pair';

const HOUR_MS = 3_600_000;

let pair: ServerPair;
let clients: SemaphoreClient[];

beforeAll(async () => {
  pair = await ServerPair.start();
  clients = [pair.first.semaphores(), pair.second.semaphores()];
});

afterAll(() => pair?.close());

const clientOf = (index: number) => clients[index % clients.length] as SemaphoreClient;

/** Resolves to undefined if the attempt is answered with CONTENDED. */
async function attempt(client: SemaphoreClient, name: string, permitCount = 1): Promise<Lease | undefined> {
  try {
    return await client.acquire({ name, permitCount, ttlMs: 20_000, waitMs: 0 });
  } catch (error) {
    expect((await refusal(Promise.reject(error as Error))).reason).toBe('CONTENDED');
    return undefined;
  }
}

test('concurrent attempts get exactly as many permits as the limit allows (chapter 36)', async () => {
  for (let round = 0; round < 10; round += 1) {
    const name = `race ${round}`;
    await clientOf(round).setLimit(name, 3);
    const tries = Array.from({ length: 16 }, (_, index) => attempt(clientOf(index), name));
    const granted = (await Promise.all(tries)).filter((lease) => lease !== undefined);
    expect(granted).toHaveLength(3);
    // The renewal and the release succeed only if the lease is really held.
    const renewed = await Promise.all(granted.map(({ leaseId }) => clientOf(round).renew(leaseId)));
    expect(renewed.map(({ fencingToken }) => fencingToken)).toEqual(
      granted.map((lease) => lease.fencingToken),
    );
    for (const { leaseId } of granted) expect((await clientOf(round).release(leaseId)).released).toBe(true);
  }
});

test('all holders together never believe in more permits than the limit (chapter 37)', async () => {
  const name = 'believed';
  const limit = 5;
  await clientOf(0).setLimit(name, limit);
  let believed = 0;
  let maxBelieved = 0;
  const work = async (worker: number): Promise<void> => {
    for (let turn = 0; turn < 12; turn += 1) {
      const permitCount = 1 + ((worker + turn) % 3);
      const lease = await clientOf(worker).acquire({ name, permitCount, ttlMs: 20_000, waitMs: 20_000 });
      believed += permitCount;
      maxBelieved = Math.max(maxBelieved, believed);
      await sleep(turn % 3);
      believed -= permitCount;
      expect((await clientOf(worker + turn).release(lease.leaseId)).released).toBe(true);
    }
  };
  await Promise.all(Array.from({ length: 10 }, (_, worker) => work(worker)));
  expect(maxBelieved).toBeLessThanOrEqual(limit);
  expect(maxBelieved).toBeGreaterThan(1);
  expect(await clientOf(0).get(name)).toMatchObject({ usedCount: 0, holderCount: 0, waiterCount: 0 });
});

test('a server with a wrong clock grants no extra permit and expires no lease early (chapter 31)', async () => {
  const name = 'wrong clocks';
  await clientOf(0).setLimit(name, 2);
  const { now } = Date;
  const skewed = async <T>(byMs: number, act: () => Promise<T>): Promise<T> => {
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + byMs);
    try {
      return await act();
    } finally {
      clock.mockRestore();
    }
  };
  const honest = await clientOf(0).acquire({ name, ttlMs: 20_000 });
  const ahead = await skewed(HOUR_MS, () => attempt(clientOf(1), name));
  expect(ahead).toBeDefined();
  for (const byMs of [HOUR_MS, 10, -10, -HOUR_MS]) {
    // A clock ahead shows all leases as expired. A clock behind shows this request as the first request.
    expect(await skewed(byMs, () => attempt(clientOf(1), name))).toBeUndefined();
  }
  const { fencingToken } = await skewed(-HOUR_MS, () => clientOf(0).renew(honest.leaseId));
  expect(fencingToken).toBe(honest.fencingToken);
  expect((await clientOf(0).get(name)).usedCount).toBe(2);
  for (const lease of [honest, ahead as Lease])
    expect((await skewed(HOUR_MS, () => clientOf(1).release(lease.leaseId))).released).toBe(true);
});

test("one caller's short ttl does not end another caller's lease (chapter 31)", async () => {
  const name = 'short and long';
  await clientOf(0).setLimit(name, 3);
  const long = await clientOf(0).acquire({ name, ttlMs: 20_000 });
  for (let round = 0; round < 5; round += 1) await clientOf(1).acquire({ name, ttlMs: 500, waitMs: 20_000 });
  expect((await clientOf(0).renew(long.leaseId)).fencingToken).toBe(long.fencingToken);
});
