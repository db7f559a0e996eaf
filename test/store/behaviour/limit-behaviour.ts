import type { SetLimitCommand } from '../../../src/leases/lease-store';
import type { Requester } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';
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
