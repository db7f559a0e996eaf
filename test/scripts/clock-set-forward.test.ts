import { leaseUnlist } from '../../generated/redis/scripts';
import type { Resource, ResourceView } from '../../src/leases/lease';
import { bucketOf, LEASE_LAYOUT } from '../../src/redis/buckets';
import { namesKeys } from '../../src/leases/redis/lease-keys';
import { listStep } from '../support/leases/lease-views';
import { LeaseFixture } from '../support/leases/lease-fixture';
import type { Requester } from '../support/leases/lease-requester';
import { PREFIX, withFrozenClock } from '../support/leases/lease-server';
import { is } from '../support/reply-kinds';

const STEP_MS = 600_000;
const TTL_MS = 20_000;

/** After a step forward, leases seem to have ended. While grants pause for the step, they last longer by the step. */
describe('while grants pause because the clock of Redis was set forward', () => {
  let fixture: LeaseFixture;
  const changed: [key: string, epoch: string][] = [];
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterEach(async () => {
    for (const [key, epoch] of changed.splice(0)) await fixture.redis.command('SET', key, epoch);
  });
  afterAll(() => fixture.close());

  /** Sets the clock forward, and records the step in the epoch. */
  async function setForward(resource: Resource, pauseMs = 60_000): Promise<void> {
    await fixture.passInUse(resource, STEP_MS);
    const key = fixture.epochKey(resource);
    const epoch = (await fixture.redis.command('GET', key)) as string;
    changed.push([key, epoch]);
    const now = BigInt(await fixture.now());
    const until = now + BigInt(pauseMs) * 1000n;
    await fixture.redis.command('SET', key, `${epoch} ${now - 1000n} ${until} ${STEP_MS * 1000} clock`);
  }

  async function held(resource: Resource, count: number): Promise<Requester[]> {
    const mode = resource.service === 'lock' ? ('shared' as const) : undefined;
    const all = await fixture.requests(count, 's1', resource, { ttlMs: TTL_MS, ...(mode && { mode }) });
    for (const one of all) is('granted', await one.try());
    return all;
  }

  /** The views of all scripts that show the resource. */
  async function views(resource: Resource): Promise<ResourceView[]> {
    const { store } = await fixture.server('s1');
    const { view } = await store.watch(resource);
    const { items } = await store.listViews(listStep(resource));
    return [await store.inspect(resource), view, ...items];
  }
  const isIndexed = async (resource: Resource) => (await fixture.stored(resource)).isIndexed;

  it('a revocation tells when the leases end in truth', async () => {
    const lock = fixture.resource();
    await held(lock, 2);
    await fixture.passInUse(lock, 5000);
    await setForward(lock);
    const { store } = await fixture.server('s1');
    const target = { kind: 'all-holders' } as const;
    const reply = await store.revoke(lock, { target, force: false, after: undefined, caller: {} });
    const nowMs = Number(await fixture.now()) / 1000;
    expect(is('revoked', reply).count).toBe(2);
    expect((is('revoked', reply).latestEndMs ?? 0) - nowMs).toBeCloseTo(TTL_MS - 5000);
  });

  describe.each([1, 20])('a lock with %i leases', (count) => {
    it('is shown with its leases until they end, with ends in the future', async () => {
      const lock = fixture.resource();
      await held(lock, count);
      await fixture.passInUse(lock, 5000);
      await setForward(lock);
      const shown = await views(lock);
      expect(shown).toHaveLength(3);
      const nowMs = Number(await fixture.now()) / 1000;
      for (const view of shown) {
        expect(view).toMatchObject({ holderCount: count, usedCount: count });
        for (const { expireTimeMs } of view.holders) expect(expireTimeMs - nowMs).toBeCloseTo(TTL_MS - 5000);
      }
      const { store } = await fixture.server('s1');
      expect((await store.watch(lock)).earliestEndMs).toBeCloseTo(TTL_MS - 5000);
      expect((await store.listWaiterCounts(listStep(lock))).items).toHaveLength(1);
      await fixture.passInUse(lock, TTL_MS - 5001);
      expect(await views(lock)).toHaveLength(3);
      await fixture.passInUse(lock, 1);
      const ended = await views(lock);
      expect(ended).toHaveLength(2);
      for (const view of ended) expect(view).toMatchObject({ holderCount: 0, usedCount: 0, holders: [] });
      expect((await store.listWaiterCounts(listStep(lock))).items).toEqual([]);
    });

    it('is shown as free after the pause', async () => {
      const lock = fixture.resource();
      await held(lock, count);
      await setForward(lock, 0);
      for (const view of await views(lock)) expect(view).toMatchObject({ holderCount: 0, usedCount: 0 });
    });
  });

  it('a semaphore shows the permits in use without the leases that have ended', async () => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 50));
    await held(semaphore, 20);
    await fixture.passInUse(semaphore, TTL_MS - 1000);
    await held(semaphore, 3);
    await fixture.pass(semaphore, 1000);
    await setForward(semaphore);
    const shown = await views(semaphore);
    expect(shown).toHaveLength(3);
    for (const view of shown) expect(view).toMatchObject({ holderCount: 3, usedCount: 3 });
  });

  it('a lease that was renewed after the step is shown to last no longer than its ttl', async () => {
    const lock = fixture.resource();
    const [alice] = (await held(lock, 1)) as [Requester];
    await setForward(lock);
    is('granted', await alice.renew(alice.secret));
    const nowMs = Number(await fixture.now()) / 1000;
    for (const { holders } of await views(lock)) {
      expect(holders.map(({ expireTimeMs }) => expireTimeMs - nowMs)).toEqual([TTL_MS]);
    }
  });

  it('a list takes a lock out of the index of names a minute after its last lease, not before', async () => {
    const lock = fixture.resource();
    await held(lock, 1);
    await setForward(lock);
    const { store } = await fixture.server('s1');
    const aMinuteAgo = Number(await fixture.now()) - (STEP_MS + 60_000) * 1000;
    await fixture.setNumbers(lock, { till: aMinuteAgo + 1 });
    await store.listViews(listStep(lock));
    expect(await isIndexed(lock)).toBe(true);
    await fixture.setNumbers(lock, { till: aMinuteAgo });
    await store.listViews(listStep(lock));
    expect(await isIndexed(lock)).toBe(false);
  });

  it('lease-unlist leaves a lock in the index of names that only seems unused', async () => {
    const lock = fixture.resource();
    await held(lock, 1);
    await setForward(lock);
    const aMinuteAgo = Number(await fixture.now()) - (STEP_MS + 60_000) * 1000;
    const keys = namesKeys(PREFIX, lock.service, bucketOf(lock.name));
    const unlist = () =>
      fixture.redis.command(
        'EVAL',
        withFrozenClock(leaseUnlist),
        keys.length,
        ...keys,
        LEASE_LAYOUT,
        lock.name,
      );
    await fixture.setNumbers(lock, { till: aMinuteAgo + 1 });
    expect(await unlist()).toEqual(['0']);
    await fixture.setNumbers(lock, { till: aMinuteAgo });
    expect(await unlist()).toEqual(['1']);
  });
});
