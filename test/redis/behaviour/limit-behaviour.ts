import type { Resource } from '../../../src/leases/lease';
import type { RevokeTarget, SetLimitCommand } from '../../../src/leases/lease-store';
import { eventually } from '../../support/eventually';
import type { Requester } from '../../support/leases/lease-requester';
import { allListed, sortedNames } from '../../support/leases/lease-views';
import { failureOf, is } from '../../support/reply-kinds';
import type { BehaviourFixture } from './behaviour-fixture';

export function limitBehaviour(opened: () => BehaviourFixture): void {
  it('sets and changes the limit, but refuses a change if the expected limit differs', async () => {
    const fixture = opened();
    await fixture.everywhere('semaphore', async (semaphore) => {
      const { one, other } = fixture;
      const set = await one.permits.setLimit(semaphore, { limit: 3, expectedLimit: undefined });
      expect(is('set', set).view).toMatchObject({ limit: 3, usedCount: 0, holderCount: 0 });
      const refused = await other.permits.setLimit(semaphore, { limit: 9, expectedLimit: 4 });
      expect(is('limit-mismatch', refused).limit).toBe(3);
      is('set', await other.permits.setLimit(semaphore, { limit: 9, expectedLimit: 3 }));
      expect((await one.permits.inspect(semaphore)).limit).toBe(9);
    });
  });

  it('pauses with the limit 0, and brings the limit back, whichever server is asked', async () => {
    const fixture = opened();
    await fixture.everywhere('semaphore', async (semaphore) => {
      const { one, other } = fixture;
      const change = async (by: typeof one, limit: SetLimitCommand['limit']) =>
        by.permits.setLimit(semaphore, { limit, expectedLimit: undefined });
      is('unknown-resource', await change(one, 'pause'));
      is('set', await change(one, 3));
      expect(is('set', await change(one, 'pause')).view).toMatchObject({ limit: 0, keptLimit: 3 });
      expect(await other.permits.inspect(semaphore)).toMatchObject({ limit: 0, keptLimit: 3 });
      expect(is('set', await change(other, 'resume')).view).toMatchObject({ limit: 3, keptLimit: undefined });
      is('set', await change(one, 0));
      is('no-kept-limit', await change(other, 'resume'));
    });
  });

  it('offers permits to the waiters when the limit is raised', async () => {
    const fixture = opened();
    await fixture.everywhere('semaphore', async (semaphore) => {
      const { waiters } = await fixture.queued(semaphore, 2, { permits: 2, initialLimit: 2 });
      const [first, second] = waiters as [Requester, Requester];
      is('set', await fixture.one.permits.setLimit(semaphore, { limit: 4, expectedLimit: undefined }));
      await fixture.offered(first);
      is('granted', await first.claim());
      is('waiting', await second.claim());
    });
  });

  it('ends waiters that want more permits than the lowered limit', async () => {
    const fixture = opened();
    await fixture.everywhere('semaphore', async (semaphore) => {
      const { waiters } = await fixture.queued(semaphore, 1, { permits: 3, initialLimit: 4 });
      const waiter = waiters[0] as Requester;
      is('set', await fixture.one.permits.setLimit(semaphore, { limit: 2, expectedLimit: undefined }));
      expect(is('never-fits', await waiter.claim()).limit).toBe(2);
      expect(await fixture.other.permits.inspect(semaphore)).toMatchObject({ usedCount: 3, waiterCount: 0 });
    });
  });

  it('deletes a semaphore in use only by force, and then ends all its leases and waits', async () => {
    const fixture = opened();
    await fixture.everywhere('semaphore', async (semaphore) => {
      const { one, other } = fixture;
      const { holder, waiters } = await fixture.queued(semaphore, 1, { permits: 1, initialLimit: 1 });
      const refused = await other.permits.remove(semaphore, { force: false });
      expect(is('in-use', refused)).toMatchObject({ holderCount: 1, waiterCount: 1 });
      is('removed', await other.permits.remove(semaphore, { force: true }));
      expect(is('finished', await holder.renew(holder.secret)).cause).toBe('revoked');
      const [waiter] = waiters as [Requester];
      const { requestId } = waiter;
      const repeated = fixture.request(one, semaphore, { requestId, initialLimit: undefined });
      is('unknown-resource', await repeated.queue());
      // A repeated deletion gets the answer of the first deletion.
      is('removed', await one.permits.remove(semaphore, { force: false }));
    });
  });
}

const COUNT = 60;

export function listBehaviour(opened: () => BehaviourFixture): void {
  it('lists the locks of all buckets that have a holder or a waiter, at every server', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    const prefix = fixture.name();
    const locks = Array.from(
      { length: COUNT },
      (_, i) => ({ service: 'lock', name: `${prefix}/${i}` }) as const,
    );
    const holders = locks.map((lock, i) =>
      fixture.request(i % 2 === 0 ? one : other, lock, { holderId: `h${i}` }),
    );
    await Promise.all(holders.map(async (holder) => is('granted', await holder.try())));
    const free = holders.slice(0, 10);
    await Promise.all(free.map(async (holder) => is('released', await holder.release(holder.secret))));
    const waiter = fixture.request(one, locks[20] as Resource);
    is('waiting', await waiter.queue());
    for (const { permits } of [one, other]) {
      const views = await allListed(permits, 'lock', { namePrefix: `${prefix}/`, pageSize: 7 });
      expect(sortedNames(views)).toEqual(sortedNames(locks.slice(10)));
      expect(views.find(({ name }) => name === locks[20]?.name)).toMatchObject({
        holderCount: 1,
        waiterCount: 1,
      });
      const first = await allListed(permits, 'lock', { namePrefix: `${prefix}/`, holderId: 'h33' });
      expect(first).toMatchObject([{ name: `${prefix}/33`, holders: [{ holderId: 'h33' }] }]);
    }
    const byWaiters = { namePrefix: `${prefix}/`, order: 'waiter-count', pageSize: 3 } as const;
    const [most] = await allListed(one.permits, 'lock', byWaiters);
    expect(most).toMatchObject({ name: locks[20]?.name, waiterCount: 1 });
  });

  it('lists all semaphores until they are deleted, in use or not', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    const prefix = fixture.name();
    const semaphores = Array.from(
      { length: COUNT },
      (_, i) => ({ service: 'semaphore', name: `${prefix}/${i}` }) as const,
    );
    await Promise.all(
      semaphores.map(async (semaphore) => {
        is('set', await one.permits.setLimit(semaphore, { limit: 3, expectedLimit: undefined }));
      }),
    );
    const listed = () => allListed(other.permits, 'semaphore', { namePrefix: `${prefix}/` });
    const views = await listed();
    expect(sortedNames(views)).toEqual(sortedNames(semaphores));
    expect(new Set(views.map(({ limit }) => limit))).toEqual(new Set([3]));
    await Promise.all(
      semaphores.slice(0, 30).map(async (semaphore) => {
        is('removed', await other.permits.remove(semaphore, { force: false }));
      }),
    );
    expect(sortedNames(await listed())).toEqual(sortedNames(semaphores.slice(30)));
  });
}

const ALL: RevokeTarget = { kind: 'all-holders' };

export function revokeBehaviour(opened: () => BehaviourFixture): void {
  it('revokes a lease without force: the lease keeps its permits, and is never renewed again', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { one, other } = fixture;
      const holder = fixture.request(one, lock, { stream: true });
      const { fencingToken } = is('granted', await holder.try());
      const command = { target: { kind: 'token', fencingToken }, force: false, after: undefined } as const;
      const first = is('revoked', await other.permits.revoke(lock, command));
      expect(first.count).toBe(1);
      expect(await one.permits.revoke(lock, command)).toEqual(first);
      await fixture.hinted(one, holder);
      expect(is('finished', await holder.keepAlive(holder.secret)).cause).toBe('revoked');
      is('refused', await fixture.request(other, lock).try());
      expect((await other.permits.inspect(lock)).holders).toMatchObject([{ revoked: true }]);
      is('released', await holder.release(holder.secret));
      is('granted', await fixture.request(other, lock).try());
    });
  });

  it('revokes all holders with force, and offers their permits to the waiters', async () => {
    const fixture = opened();
    await fixture.everywhere('semaphore', async (semaphore) => {
      const { holder, waiters } = await fixture.queued(semaphore, 1, { initialLimit: 1 });
      const command = { target: ALL, force: true, after: undefined };
      expect(is('revoked', await fixture.one.permits.revoke(semaphore, command)).count).toBe(1);
      expect(is('finished', await holder.renew(holder.secret)).cause).toBe('revoked');
      const [waiter] = waiters as [Requester];
      await fixture.offered(waiter);
      is('granted', await waiter.claim());
    });
  });

  it('takes a waiter out of the queue by the enqueue time that a view shows', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { waiters } = await fixture.queued(lock, 3);
      const { waiters: shown } = await fixture.one.permits.inspect(lock);
      const enqueueTimeUs = BigInt(Math.round((shown[1]?.enqueueTimeMs ?? 0) * 1000));
      // The view is older than the queue: the first waiter has left.
      const [first, second, third] = waiters as [Requester, Requester, Requester];
      is('withdrawn', await first.withdraw());
      const target = { kind: 'waiter', position: 2, enqueueTimeUs } as const;
      const reply = await fixture.one.permits.revoke(lock, { target, force: false, after: undefined });
      expect(is('revoked', reply).count).toBe(1);
      await fixture.hinted(fixture.other, second);
      expect(is('finished', await second.claim()).cause).toBe('revoked');
      expect(is('waiting', await third.claim()).position).toBe(1);
    });
  });
}

const WAIT = { timeoutMs: 60_000 };

export function watchBehaviour(opened: () => BehaviourFixture): void {
  it('tells a server with watches of each change by another server, from the first acquire of the name on', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    await fixture.everywhere('lock', async (lock) => {
      const told = (count: number) =>
        eventually('a hint', () => other.changed.filter((name) => name === lock.name).length >= count, WAIT);
      expect((await other.permits.watch(lock)).view).toMatchObject({ holderCount: 0, waiterCount: 0 });
      const holder = fixture.request(one, lock, { holderId: 'alice' });
      is('granted', await holder.try());
      await told(1);
      expect((await other.permits.watch(lock)).view).toMatchObject({ holders: [{ holderId: 'alice' }] });
      is('released', await holder.release(holder.secret));
      await told(2);
      expect((await other.permits.watch(lock)).view).toMatchObject({ holderCount: 0, waiterCount: 0 });
    });
  });

  it('tells a server with watches of its own changes by the replies', async () => {
    const fixture = opened();
    const { one } = fixture;
    await fixture.everywhere('lock', async (lock) => {
      await one.permits.watch(lock);
      is('granted', await fixture.request(one, lock).try());
      expect(one.changed).toContain(lock.name);
    });
  });

  it('tells a server with watches of the deletion of a semaphore', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    await fixture.everywhere('semaphore', async (semaphore) => {
      expect((await other.permits.watch(semaphore)).view.limit).toBeUndefined();
      is('set', await one.permits.setLimit(semaphore, { limit: 3, expectedLimit: undefined }));
      expect((await other.permits.watch(semaphore)).view.limit).toBe(3);
      is('removed', await one.permits.remove(semaphore, { force: false }));
      await eventually('a hint', () => other.changed.includes(semaphore.name), WAIT);
      expect((await other.permits.watch(semaphore)).view.limit).toBeUndefined();
    });
  });
}

export function lossBehaviour(opened: () => BehaviourFixture): void {
  it('grants nothing during the quarantine, and higher fencing tokens afterwards', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    const resources = Array.from({ length: 6 }, () => ({ service: 'lock', name: fixture.name() }) as const);
    const tokens: bigint[] = [];
    const holders = resources.map((resource) => fixture.request(one, resource));
    for (const holder of holders) tokens.push(is('granted', await holder.try()).fencingToken);

    await fixture.flush();
    for (const [index, resource] of resources.entries()) {
      for (const server of [one, other]) {
        const failure = await failureOf(fixture.request(server, resource).try());
        expect(failure).toMatchObject({ kind: 'quarantined', carriedOut: 'no' });
        expect(failure.retryAfterMs).toBeGreaterThan(0);
      }
      is('gone', await holders[index]!.renew(holders[index]!.secret));
    }
    expect(one.store.node.quarantine?.cause).toBe('forgotten');

    await fixture.endQuarantine(resources);
    expect(one.store.node.quarantine).toBeUndefined();
    for (const [index, resource] of resources.entries()) {
      const next = is('granted', await fixture.request(other, resource).try());
      expect(next.fencingToken).toBeGreaterThan(tokens[index]!);
    }
  });
}
