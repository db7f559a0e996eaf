import { randomUUID } from 'node:crypto';
import { ListOrder } from '../../../generated/typescript/holdfast/v1/lease';
import type { ListLocksRequest } from '../../../generated/typescript/holdfast/v1/lock_service';
import { SLOW_MS } from '../../end-to-end/in-process-server';
import { ServerPair, untilWaiterCount } from '../../end-to-end/server-pair';
import { refusal } from '../../support/clients/calls';
import { type LockClient, ms, type SemaphoreClient } from '../../support/clients/lease-client';

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

describe('revoke', () => {
  const ALL = { $case: 'allHolders', value: true } as const;

  test.concurrent(
    'RevokeLock sends `lost` at once to the stream at another server, and frees the lock at its end',
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

  test.concurrent('RevokeLock with force, frees the lock at once', async () => {
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

  test.concurrent('RevokeLock ends renewals and attaches, and leaves the release to the holder', async () => {
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
    'RevokeLock takes a waiter out of the queue, by its position and the enqueue_time that GetLock shows',
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

  test.concurrent('RevokeLock finds nothing at an unused lock', async () => {
    expect(await client.revoke({ name: 'unused', target: ALL })).toEqual({
      revokedCount: 0,
      freeTime: undefined,
    });
  });

  test.concurrent('RevokePermits revokes 150 leases of a semaphore with one call', async () => {
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

  test.concurrent('RevokePermits answers NO_SUCH_SEMAPHORE for an unknown semaphore', async () => {
    expect(await refusal(pools.revoke({ name: 'unknown', target: ALL }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'NO_SUCH_SEMAPHORE',
    });
  });

  test('RenewLock replaces the metadata that GetLock shows', async () => {
    const name = 'leader';
    const lease = await client.acquire({ name, metadata: { address: '10.0.0.1' } });
    await client.renew(lease.leaseId, undefined, { entries: new Map([['address', '10.0.0.2']]) });
    expect((await elsewhere.get(name)).holders[0]?.metadata).toEqual(new Map([['address', '10.0.0.2']]));
  });
});

describe('lists', () => {
  /** The names of all pages. Each page comes from the other server. */
  async function allNames(fields: Partial<ListLocksRequest>): Promise<string[]> {
    const names: string[] = [];
    let pageToken = '';
    for (let page = 0; ; page += 1) {
      const { locks, nextPageToken } = await (page % 2 === 0 ? client : elsewhere).list({
        ...fields,
        pageToken,
      });
      names.push(...locks.map(({ name }) => name));
      if (nextPageToken === '') return names.sort();
      pageToken = nextPageToken;
    }
  }

  describe('ListLocks', () => {
    test('pages through the locks that are held, at any server', async () => {
      const names = Array.from({ length: 30 }, (_, i) => `paged/${i} {*}:ü`);
      const leases = await Promise.all(names.map((name) => client.acquire({ name })));
      expect(await allNames({ namePrefix: 'paged/', pageSize: 7 })).toEqual([...names].sort());
      await Promise.all(leases.slice(0, 10).map(({ leaseId }) => elsewhere.release(leaseId)));
      expect(await allNames({ namePrefix: 'paged/', pageSize: 7 })).toEqual(names.slice(10).sort());
    });

    test('answers each lock as GetLock does', async () => {
      const name = 'as shown';
      await client.acquire({ name, holderId: 'alice', metadata: { at: 'a:1' } });
      const { locks } = await elsewhere.list({ namePrefix: name });
      expect(locks).toEqual([await client.get(name)]);
    });

    test('finds the locks of a holder, and the calls that wait', async () => {
      await client.acquire({ name: 'found/1', holderId: 'worker 7' });
      await client.acquire({ name: 'found/2', holderId: 'worker 8' });
      const waiting = elsewhere.acquire({ name: 'found/2', holderId: 'worker 7', waitMs: 60_000 });
      await untilWaiterCount(client, 'found/2', 1);
      expect(await allNames({ holderId: 'worker 7' })).toEqual(['found/1', 'found/2']);
      expect(await allNames({ holderId: 'worker 8' })).toEqual(['found/2']);
      expect(await allNames({ holderId: 'worker' })).toEqual([]);
      const lock = await client.get('found/2');
      expect(lock.holders).toMatchObject([{ holderId: 'worker 8' }]);
      await client.revoke({ name: 'found/2', target: { $case: 'allHolders', value: true }, force: true });
      await waiting;
    });

    test('shows the most contended locks first with order_by', async () => {
      for (const [i, count] of [1, 3, 0, 2].entries()) {
        const name = `contended/${i}`;
        await client.acquire({ name });
        for (let waiter = 0; waiter < count; waiter += 1) {
          elsewhere.acquire({ name, waitMs: 600_000 }).catch(() => undefined);
        }
        await untilWaiterCount(client, name, count);
      }
      const orderBy = ListOrder.LIST_ORDER_WAITER_COUNT;
      const { locks, ...rest } = await client.list({ namePrefix: 'contended/', orderBy, pageSize: 3 });
      expect(locks.map(({ name, waiterCount }) => [name, waiterCount])).toEqual([
        ['contended/1', 3],
        ['contended/3', 2],
        ['contended/0', 1],
      ]);
      expect(rest).toEqual({ nextPageToken: '', sampled: false });
    });

    test('refuses a token of a list of semaphores', async () => {
      for (const name of ['a', 'b']) await pools.setLimit(`tokens/${name}`, 1);
      const { nextPageToken: pageToken } = await pools.list({ pageSize: 1 });
      expect(pageToken).not.toBe('');
      expect(await refusal(client.list({ pageSize: 1, pageToken }))).toMatchObject({
        reason: 'INVALID_FIELD',
      });
    });
  });

  describe('ListSemaphores', () => {
    test('shows semaphores in use and idle ones until they are deleted', async () => {
      await pools.setLimit('pools/idle', 3);
      await pools.acquire({ name: 'pools/used', permitCount: 2, initialLimit: 5 });
      const shown = async () => (await pools.list({ namePrefix: 'pools/' })).semaphores;
      const [idle, used] = (await shown()).sort((a, b) => (a.name < b.name ? -1 : 1));
      expect(idle).toEqual(await pools.get('pools/idle'));
      expect(used).toMatchObject({ name: 'pools/used', limit: 5, usedCount: 2, holderCount: 1 });
      await pools.delete('pools/idle');
      await pools.delete('pools/used', true);
      expect(await shown()).toEqual([]);
    });
  });
});
