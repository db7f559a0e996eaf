import { eventually } from '../../support/eventually';
import { is } from '../../support/reply-kinds';
import type { BehaviourFixture } from './behaviour-fixture';

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
