import type { Resource } from '../../src/leases/lease';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { brokenInvariants } from '../support/leases/lease-invariants';
import { OFFERED_TTL_MS, type Requester } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

/** Steps of a limit change or a deletion that meet an unusual order, or members without a record. */
describe('a step of a limit change or a deletion', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    // Hundreds of commands are in flight at the same time.
    fixture = await LeaseFixture.open({ commandTimeoutMs: 20_000, frozenClock: true });
  });
  afterAll(() => fixture.close());

  async function waiter(semaphore: Resource, permits = 1): Promise<Requester> {
    const one = await fixture.request('s1', semaphore, { permits, ttlMs: OFFERED_TTL_MS });
    is('waiting', await one.queue());
    return one;
  }

  it('looks at the first waiter after the last offer is back in the queue, even if its offer was the last', async () => {
    const { semaphore, holder } = await fixture.fullSemaphore(150);
    const first = await waiter(semaphore, 5);
    is('withdrawn', await first.withdraw());
    for (let i = 0; i < 70; i += 1) await waiter(semaphore);
    is('released', await holder.release(holder.secret));
    await fixture.finishBatches(semaphore, () => Promise.resolve());
    expect(await fixture.idsIn(semaphore, 'offers')).toHaveLength(70);
    await fixture.passInUse(semaphore, 1);
    is('granted', await (await fixture.request('s1', semaphore, { permits: 80 })).try());
    is('waiting', await first.queue());
    is('set', await fixture.setLimit(semaphore, 155)); // The first waiter gets its offer after all others.
    expect(await fixture.idsIn(semaphore, 'offers')).toHaveLength(71);
    is('set', await fixture.setLimit(semaphore, 4));
    await fixture.finishBatches(semaphore, () => Promise.resolve());
    expect(await fixture.idsIn(semaphore, 'queue')).toHaveLength(70);
    expect(await first.claim()).toEqual({ kind: 'never-fits', limit: 4 });
  });

  it('removes an offer and a waiter without a record when it lowers the limit', async () => {
    const { semaphore, holder } = await fixture.fullSemaphore(4);
    const [one, two] = [await waiter(semaphore, 2), await waiter(semaphore, 2)];
    is('released', await holder.release(holder.secret));
    await fixture.addGhost(semaphore, 'offers', Number(await fixture.now()) + 1_000_000);
    is('set', await fixture.setLimit(semaphore, 3));
    expect(await fixture.idsIn(semaphore, 'offers')).toEqual([one.requestId]);
    await fixture.addGhost(semaphore, 'queue', 1);
    is('set', await fixture.setLimit(semaphore, 2));
    expect(await fixture.idsIn(semaphore, 'queue')).toEqual([two.requestId]);
    expect(brokenInvariants(await fixture.stored(semaphore))).toEqual([]);
  });

  it('removes all members without a record when it deletes the semaphore', async () => {
    const { semaphore, holder } = await fixture.fullSemaphore(4);
    const lost = await waiter(semaphore);
    const later = Number(await fixture.now()) + 1_000_000;
    for (const part of ['ends', 'offers', 'queue', 'detached'] as const)
      await fixture.addGhost(semaphore, part, later);
    for (const { requestId } of [holder, lost])
      await fixture.redis.command('HDEL', fixture.key(semaphore, 'state'), `r${requestId}`);
    is('removed', await fixture.remove(semaphore, { force: true }));
    const { sets, numbers } = await fixture.stored(semaphore);
    expect(Object.values(sets).flat()).toEqual([]);
    expect(numbers.used).toBe('0');
  });
});
