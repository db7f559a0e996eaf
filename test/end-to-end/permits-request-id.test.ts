import { randomUUID } from 'node:crypto';
import { refusal } from '../support/clients/calls';
import type { LockClient, SemaphoreClient } from '../support/clients/lease-client';
import { ServerPair } from './server-pair';

let pair: ServerPair;
let client: SemaphoreClient;
let elsewhere: SemaphoreClient;
let locks: LockClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.semaphores();
  elsewhere = pair.second.semaphores();
  locks = pair.first.client();
});

afterAll(() => pair?.close());

describe('AcquirePermits with a repeated request_id', () => {
  test.concurrent(
    'answers with the same lease, even if initial_limit, ttl and wait_timeout differ',
    async () => {
      const wanted = { name: 'same', requestId: randomUUID(), permitCount: 2 };
      const first = await client.acquire({ ...wanted, ttlMs: 5000, initialLimit: 2 });
      const again = await elsewhere.acquire({ ...wanted, ttlMs: 9000, waitMs: 0, initialLimit: 7 });
      expect(again).toMatchObject({
        leaseId: first.leaseId,
        fencingToken: first.fencingToken,
        permitCount: 2,
      });
      expect(await client.get('same')).toMatchObject({ limit: 2, usedCount: 2 });
      await client.release(first.leaseId);
      expect(await refusal(client.acquire(wanted))).toMatchObject({
        code: 'FAILED_PRECONDITION',
        reason: 'REQUEST_FINISHED',
      });
    },
  );

  test.concurrent('answers REQUEST_MISMATCH with the name of a changed field', async () => {
    const requestId = randomUUID();
    const wanted = { name: 'mismatch', requestId, permitCount: 2, holderId: 'alice', initialLimit: 9 };
    await client.acquire(wanted);
    for (const [other, field] of [
      [{ permitCount: 3 }, 'permit_count'],
      [{ holderId: 'bob' }, 'holder_id'],
    ] as const) {
      const ending = await refusal(elsewhere.acquire({ ...wanted, ...other }));
      expect(ending).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'REQUEST_MISMATCH',
        metadata: { field },
      });
    }
    expect((await client.get('mismatch')).usedCount).toBe(2);
  });
});

describe('a lock and a semaphore of the same name', () => {
  test.concurrent('are held independently of each other', async () => {
    const name = 'both';
    const lock = await locks.acquire({ name, ttlMs: 20_000, holderId: 'of the lock' });
    const requestId = lock.requestId;
    const permits = await client.acquire({ name, ttlMs: 20_000, waitMs: 0, initialLimit: 1, requestId });
    expect(permits.leaseId).not.toBe(lock.leaseId);
    expect(await client.get(name)).toMatchObject({ holderCount: 1, holders: [{ holderId: '' }] });
    await client.delete(name, true);
    expect(await locks.get(name)).toMatchObject({ holderCount: 1, holders: [{ holderId: 'of the lock' }] });
    await locks.renew(lock.leaseId);
  });

  test.concurrent('refuse the lease_id of the other service', async () => {
    const name = 'foreign';
    const lock = await locks.acquire({ name, ttlMs: 20_000 });
    const permits = await client.acquire({ name, ttlMs: 20_000, initialLimit: 1 });
    for (const [asked, leaseId, service] of [
      [client, lock.leaseId, 'semaphore'],
      [locks, permits.leaseId, 'lock'],
    ] as const) {
      const refused = { code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' };
      const text = `lease_id is not a lease_id that this service gave out for a ${service} [INVALID_FIELD]`;
      expect(await refusal(asked.renew(leaseId))).toMatchObject({ ...refused, text });
      expect(await refusal(asked.release(leaseId))).toMatchObject({ ...refused, text });
      expect(await asked.attach(leaseId).ending).toMatchObject({ ...refused, text });
    }
    expect((await locks.release(lock.leaseId)).released).toBe(true);
    expect((await client.release(permits.leaseId)).released).toBe(true);
  });
});
