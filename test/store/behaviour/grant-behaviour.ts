import { LOCK_LIMIT } from '../../../src/leases/lease';
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
