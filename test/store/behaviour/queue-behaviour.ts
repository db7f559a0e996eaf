import type { Requester } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';
import type { BehaviourFixture } from './behaviour-fixture';

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
