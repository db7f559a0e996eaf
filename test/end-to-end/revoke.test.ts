import { randomUUID } from 'node:crypto';
import { refusal } from '../support/clients/calls';
import { type LockClient, ms, type SemaphoreClient } from '../support/clients/lease-client';
import { SLOW_MS } from './in-process-server';
import { ServerPair, untilWaiterCount } from './server-pair';

const ALL = { $case: 'allHolders', value: true } as const;

let pair: ServerPair;
let client: LockClient;
let elsewhere: LockClient;
let pools: SemaphoreClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.client();
  elsewhere = pair.second.client();
  pools = pair.second.semaphores();
});

afterAll(() => pair?.close());

describe('RevokeLock', () => {
  test.concurrent(
    'sends `lost` at once to the stream at another server, and frees the lock at its end',
    async () => {
      const name = 'streamed';
      const stream = elsewhere.hold({ name, ttlMs: 3000, holderId: 'alice' });
      const { lease } = await stream.next('granted');
      const waiting = client.acquire({ name, waitMs: 60_000 });
      await untilWaiterCount(client, name, 1);
      const stopwatch = pair.stopwatch();
      const target = { $case: 'fencingToken', value: lease?.fencingToken ?? 0n } as const;
      const answer = await client.revoke({ name, target, reason: 'deploy stuck' });
      expect(await stream.until('lost')).toEqual({ cause: 2 });
      expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
      expect(await stream.ending).toMatchObject({
        code: 'ABORTED',
        reason: 'LEASE_LOST',
        metadata: { cause: 'REVOKED' },
      });
      const { holders } = await client.get(name);
      expect(answer).toEqual({ revokedCount: 1, freeTime: holders[0]?.expireTime });
      expect(holders).toMatchObject([{ holderId: 'alice', revoked: true }]);
      const deadline = stream.openedAt + ms(lease?.expireOffset);
      expect((await waiting).fencingToken).toBeGreaterThan(lease?.fencingToken ?? 0n);
      expect(performance.now()).toBeGreaterThan(deadline);
    },
  );

  test.concurrent('with force, frees the lock at once', async () => {
    const name = 'forced';
    const lease = await client.acquire({ name, ttlMs: 60_000 });
    const waiting = elsewhere.acquire({ name, waitMs: 60_000 });
    await untilWaiterCount(client, name, 1);
    expect(await client.revoke({ name, target: ALL, force: true })).toEqual({
      revokedCount: 1,
      freeTime: undefined,
    });
    expect((await waiting).fencingToken).toBeGreaterThan(lease.fencingToken);
    expect(await refusal(client.renew(lease.leaseId))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'LEASE_NOT_HELD',
      metadata: { cause: 'REVOKED' },
    });
    expect((await client.release(lease.leaseId)).released).toBe(false);
  });

  test.concurrent('ends renewals and attaches, and leaves the release to the holder', async () => {
    const name = 'unary';
    const requestId = randomUUID();
    const lease = await client.acquire({ name, ttlMs: 60_000, requestId });
    for (const at of [client, elsewhere])
      expect((await at.revoke({ name, target: ALL })).revokedCount).toBe(1);
    expect(await refusal(client.renew(lease.leaseId))).toMatchObject({ reason: 'LEASE_NOT_HELD' });
    const attached = await elsewhere.attach(lease.leaseId).ending;
    expect(attached).toMatchObject({ code: 'NOT_FOUND', reason: 'LEASE_NOT_HELD' });
    expect(await refusal(elsewhere.acquire({ name, requestId }))).toMatchObject({
      reason: 'REQUEST_FINISHED',
    });
    expect(await refusal(elsewhere.acquire({ name, waitMs: 0 }))).toMatchObject({ reason: 'CONTENDED' });
    expect((await client.release(lease.leaseId)).released).toBe(true);
    await elsewhere.acquire({ name, waitMs: 0 });
  });

  test.concurrent(
    'takes a waiter out of the queue, by its position and the enqueue_time that GetLock shows',
    async () => {
      const name = 'queue';
      await client.acquire({ name, ttlMs: 60_000 });
      const requestId = randomUUID();
      const waiting = elsewhere.acquire({ name, requestId, holderId: 'bob', waitMs: 60_000 });
      await untilWaiterCount(client, name, 1);
      const stream = elsewhere.hold({ name, holderId: 'carol' });
      await untilWaiterCount(client, name, 2);
      const { waiters } = await client.get(name);
      for (const [index, { enqueueTime }] of waiters.entries()) {
        const target = { $case: 'waiterPosition', value: index + 1 } as const;
        expect(await client.revoke({ name, target, enqueueTime })).toEqual({
          revokedCount: 1,
          freeTime: undefined,
        });
      }
      const ended = { code: 'ABORTED', reason: 'LEASE_LOST', metadata: { cause: 'REVOKED' } };
      expect(await refusal(waiting)).toMatchObject(ended);
      expect(await stream.ending).toMatchObject(ended);
      expect(stream.kinds).toEqual(['queued']);
      expect(await refusal(client.acquire({ name, requestId, holderId: 'bob' }))).toMatchObject({
        reason: 'REQUEST_FINISHED',
      });
      expect((await client.get(name)).waiterCount).toBe(0);
    },
  );

  test.concurrent('finds nothing at an unused lock', async () => {
    expect(await client.revoke({ name: 'unused', target: ALL })).toEqual({
      revokedCount: 0,
      freeTime: undefined,
    });
  });
});

describe('RevokePermits', () => {
  test.concurrent('revokes 150 leases of a semaphore with one call', async () => {
    const name = 'pool';
    await pools.setLimit(name, 150);
    // A busy server refuses some of 150 calls that come at once.
    for (let count = 0; count < 150; count += 10) {
      await Promise.all(Array.from({ length: 10 }, () => pools.acquire({ name, ttlMs: 60_000 })));
    }
    const answer = await pools.revoke({ name, target: ALL });
    expect(answer.revokedCount).toBe(150);
    expect(answer.freeTime).toBeDefined();
    expect((await pools.get(name)).usedCount).toBe(150);
    expect((await pools.revoke({ name, target: ALL, force: true })).revokedCount).toBe(150);
    expect((await pools.get(name)).usedCount).toBe(0);
  });

  test.concurrent('answers NO_SUCH_SEMAPHORE for an unknown semaphore', async () => {
    expect(await refusal(pools.revoke({ name: 'unknown', target: ALL }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'NO_SUCH_SEMAPHORE',
    });
  });
});

test('RenewLock replaces the metadata that GetLock shows', async () => {
  const name = 'leader';
  const lease = await client.acquire({ name, metadata: { address: '10.0.0.1' } });
  await client.renew(lease.leaseId, undefined, { entries: new Map([['address', '10.0.0.2']]) });
  expect((await elsewhere.get(name)).holders[0]?.metadata).toEqual(new Map([['address', '10.0.0.2']]));
});
