import type { RevokeTarget } from '../../../src/leases/lease-store';
import type { Requester } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';
import type { BehaviourFixture } from './behaviour-fixture';

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
