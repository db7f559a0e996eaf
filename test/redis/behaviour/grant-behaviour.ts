import { LOCK_LIMIT } from '../../../src/leases/lease';
import { eventually } from '../../support/eventually';
import type { Requester } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';
import type { BehaviourFixture } from './behaviour-fixture';

export function grantBehaviour(opened: () => BehaviourFixture): void {
  it('grants a free lock for its whole ttl', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const request = fixture.request(fixture.one, lock, { ttlMs: 20_000 });
      expect(is('granted', await request.try())).toMatchObject({
        remainingMs: 20_000,
        ttlMs: 20_000,
        secret: request.secret,
        permits: LOCK_LIMIT,
      });
    });
  });

  it('refuses a held lock at another server, and shows its holder', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const holder = fixture.request(fixture.one, lock, { holderId: 'alice', metadata: { job: '7' } });
      const { fencingToken } = is('granted', await holder.try());
      const { snapshot } = is('refused', await fixture.request(fixture.other, lock).try());
      expect(snapshot).toMatchObject({ waiterCount: 0, usedCount: LOCK_LIMIT });
      expect(snapshot.holder).toMatchObject({ holderId: 'alice', metadata: { job: '7' }, fencingToken });
      expect(await fixture.other.permits.inspect(lock)).toMatchObject({
        holderCount: 1,
        waiterCount: 0,
        lastFencingToken: fencingToken,
        holders: [{ holderId: 'alice', mode: 'exclusive', permitCount: LOCK_LIMIT }],
      });
    });
  });

  it('answers a repeated request with the same lease at any server', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const first = fixture.request(fixture.one, lock);
      const { fencingToken } = is('granted', await first.try());
      const repeated = fixture.request(fixture.other, lock, { requestId: first.requestId });
      expect(is('granted', await repeated.try())).toMatchObject({ fencingToken, secret: first.secret });
      expect(await fixture.one.permits.inspect(lock)).toMatchObject({ holderCount: 1 });
    });
  });

  it('answers mismatch for a repeated request in another mode', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const first = fixture.request(fixture.one, lock);
      is('granted', await first.try());
      const { requestId } = first;
      const changed = fixture.request(fixture.other, lock, { requestId, mode: 'shared' });
      expect(is('mismatch', await changed.try()).field).toBe('mode');
    });
  });

  it('grants a shared lock to several holders, and refuses an exclusive request', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      for (const server of [fixture.one, fixture.other]) {
        is('granted', await fixture.request(server, lock, { mode: 'shared' }).try());
      }
      is('refused', await fixture.request(fixture.one, lock).try());
      expect(await fixture.other.permits.inspect(lock)).toMatchObject({ holderCount: 2, usedCount: 2 });
    });
  });

  it('raises the fencing token with each grant', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      let last = 0n;
      for (const server of [fixture.one, fixture.other, fixture.one]) {
        const request = fixture.request(server, lock);
        const { fencingToken } = is('granted', await request.try());
        expect(fencingToken).toBeGreaterThan(last);
        last = fencingToken;
        is('released', await request.release(request.secret));
      }
    });
  });

  it('grants the permits of a semaphore up to its limit', async () => {
    const fixture = opened();
    await fixture.everywhere('semaphore', async (semaphore) => {
      const options = { permits: 2, initialLimit: 5 };
      for (const server of [fixture.one, fixture.other]) {
        expect(is('granted', await fixture.request(server, semaphore, options).try()).permits).toBe(2);
      }
      const { snapshot } = is('refused', await fixture.request(fixture.one, semaphore, options).try());
      expect(snapshot).toMatchObject({ limit: 5, usedCount: 4 });
      is('granted', await fixture.request(fixture.other, semaphore, { permits: 1 }).try());
    });
  });

  it('answers unknown-resource for a missing semaphore, and never-fits for more permits than the limit', async () => {
    const fixture = opened();
    await fixture.everywhere('semaphore', async (semaphore) => {
      is('unknown-resource', await fixture.request(fixture.one, semaphore).try());
      const tooMany = fixture.request(fixture.other, semaphore, { permits: 4, initialLimit: 3 });
      expect(is('never-fits', await tooMany.queue()).limit).toBe(3);
    });
  });
}

export function queueBehaviour(opened: () => BehaviourFixture): void {
  it('numbers the waiters in the order of their arrival', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { waiters } = await fixture.queued(lock, 3);
      for (const [index, waiter] of waiters.entries()) {
        expect(is('waiting', await waiter.queue()).position).toBe(index + 1);
        expect((await waiter.touch()).waiters).toEqual([index + 1]);
      }
    });
  });

  it('offers a released lock to the first waiter, and sends a hint to its server', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { holder, waiters } = await fixture.queued(lock, 2, { ttlMs: 20_000 });
      const [first, second] = waiters as [Requester, Requester];
      is('released', await holder.release(holder.secret));
      await fixture.offered(first);
      await fixture.hinted(fixture.other, first);
      expect(is('waiting', await second.claim()).position).toBe(1);
      expect(is('granted', await first.claim())).toMatchObject({ remainingMs: 20_000, secret: first.secret });
    });
  });

  it('refuses a newcomer while a waiter has an offer', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { holder, waiters } = await fixture.queued(lock, 1);
      await holder.release(holder.secret);
      is('refused', await fixture.request(fixture.one, lock).try());
      is('granted', await (waiters[0] as Requester).claim());
    });
  });

  it('offers an expired lock to the first waiter', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { waiters } = await fixture.queued(lock, 1, { ttlMs: 500 });
      const waiter = waiters[0] as Requester;
      await fixture.offered(waiter);
      is('granted', await waiter.claim());
      expect(await fixture.one.permits.inspect(lock)).toMatchObject({ waiterCount: 0 });
    });
  });

  it('ends a wait on withdrawal, and moves the later waiters up', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { waiters } = await fixture.queued(lock, 2);
      const [first, second] = waiters as [Requester, Requester];
      expect(is('withdrawn', await first.withdraw()).snapshot.waiterCount).toBe(1);
      expect((await second.touch()).waiters).toEqual([1]);
    });
  });

  it('answers a withdrawal with a grant if the lock was already offered to the waiter', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { holder, waiters } = await fixture.queued(lock, 1);
      const waiter = waiters[0] as Requester;
      await holder.release(holder.secret);
      expect(is('granted', await waiter.withdraw()).secret).toBe(waiter.secret);
    });
  });

  it('offers the lock to the next waiter when a grant is given back', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { holder, waiters } = await fixture.queued(lock, 2);
      const [first, second] = waiters as [Requester, Requester];
      await holder.release(holder.secret);
      is('withdrawn', await first.giveBack());
      is('granted', await second.claim());
    });
  });

  it('answers superseded to a call when its request is repeated at another server', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const { waiters } = await fixture.queued(lock, 1);
      const older = waiters[0] as Requester;
      const newer = fixture.request(fixture.one, lock, { requestId: older.requestId });
      expect(is('waiting', await newer.queue()).position).toBe(1);
      expect((await older.touch()).waiters).toEqual(['superseded']);
      is('superseded', await older.claim());
    });
  });

  it('answers queue-full to a request when the queue has the largest number of waiters', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      await fixture.queued(lock, 2);
      const late = fixture.request(fixture.one, lock, { maxWaiters: 2 });
      expect(is('queue-full', await late.queue()).waiterCount).toBe(2);
    });
  });
}

export function renewBehaviour(opened: () => BehaviourFixture): void {
  it('renews a lease at any server, and never shortens it', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const holder = fixture.request(fixture.one, lock, { ttlMs: 30_000 });
      const { fencingToken } = is('granted', await holder.try());
      const { requestId } = holder;
      const elsewhere = fixture.request(fixture.other, lock, { requestId });
      const longer = is('granted', await elsewhere.renew(holder.secret, 600_000));
      expect(longer).toMatchObject({ fencingToken, remainingMs: 600_000 });
      expect(is('granted', await holder.renew(holder.secret, 10_000)).remainingMs).toBeGreaterThan(10_000);
    });
  });

  it('answers gone to a renewal and to a release with another secret', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const holder = fixture.request(fixture.one, lock);
      is('granted', await holder.try());
      is('gone', await holder.renew('another secret'));
      is('gone', await holder.release('another secret'));
      expect(await fixture.other.permits.inspect(lock)).toMatchObject({ holderCount: 1 });
    });
  });

  it('answers a repeated release, a renewal and the same request with the release of the lease', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const holder = fixture.request(fixture.one, lock);
      is('granted', await holder.try());
      is('released', await holder.release(holder.secret));
      const { requestId } = holder;
      const elsewhere = fixture.request(fixture.other, lock, { requestId });
      expect(is('finished', await elsewhere.release(holder.secret)).cause).toBe('released');
      expect(is('finished', await elsewhere.renew(holder.secret)).cause).toBe('released');
      expect(is('finished', await elsewhere.try()).cause).toBe('released');
    });
  });

  it('answers a renewal and a release of an expired lease with its expiry', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const holder = fixture.request(fixture.one, lock, { ttlMs: 200 });
      is('granted', await holder.try());
      const isFree = async () => (await fixture.other.permits.inspect(lock)).holderCount === 0;
      await eventually('the lease to expire', isFree, { timeoutMs: 60_000 });
      expect(is('finished', await holder.renew(holder.secret)).cause).toBe('expired');
      expect(is('finished', await holder.release(holder.secret)).cause).toBe('expired');
      is('granted', await fixture.request(fixture.other, lock).try());
    });
  });

  it('lets a new stream take over a lease, and answers superseded to the previous stream', async () => {
    const fixture = opened();
    await fixture.everywhere('lock', async (lock) => {
      const older = fixture.request(fixture.one, lock, { stream: true });
      is('granted', await older.try());
      const newer = fixture.request(fixture.other, lock, { requestId: older.requestId, stream: true });
      is('granted', await newer.takeOver(older.secret));
      is('superseded', await older.keepAlive(older.secret));
      is('granted', await newer.keepAlive(older.secret));
    });
  });
}
