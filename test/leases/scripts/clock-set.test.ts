import { leaseUnlist } from '../../../generated/redis/scripts';
import type { Resource, ResourceView } from '../../../src/leases/lease';
import { bucketOf, LEASE_LAYOUT } from '../../../src/redis/buckets';
import { namesKeys } from '../../../src/leases/redis/lease-keys';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import type { Requester } from '../../support/leases/lease-requester';
import { PREFIX, withFrozenClock } from '../../support/leases/lease-server';
import { listStep } from '../../support/leases/lease-views';
import { is } from '../../support/reply-kinds';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

const HOUR_MS = 3_600_000;

/** After a step back, every stored end lies farther in the future. Scripts must shorten these times. */
describe('when the clock of Redis is set back', () => {
  /** The remaining time of each lease (ms), the longest first. */
  async function left(resource: Resource): Promise<number[]> {
    const now = Number(await fixture.now()) / 1000;
    const ends = (await fixture.stored(resource)).sets.ends.map(({ score }) => score / 1000 - now);
    return ends.sort((a, b) => b - a);
  }

  it('no lease lasts longer than its longest ttl, even with 151 leases', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 1000);
    const many = await fixture.requests(150, 's1', semaphore, { ttlMs: 20_000 });
    for (const one of many) is('granted', await one.try());
    const longer = await fixture.request('s1', semaphore, { ttlMs: 20_000 });
    is('granted', await longer.try());
    is('granted', await longer.renew(longer.secret, 90_000));
    await fixture.pass(semaphore, -HOUR_MS);
    await fixture.finishBatches(semaphore, () => Promise.resolve());
    const [first = 0, second = 0] = await left(semaphore);
    expect(first).toBeGreaterThan(80_000);
    expect(first).toBeLessThanOrEqual(90_000);
    expect(second).toBeLessThanOrEqual(20_000);
    expect(brokenInvariants(await fixture.stored(semaphore))).toEqual([]);
    expect((await fixture.stored(semaphore)).numbers.moving).toBeUndefined();
  });

  it('the lease of a crashed holder ends within its ttl', async () => {
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock, { ttlMs: 10_000 })).try());
    await fixture.pass(lock, -HOUR_MS);
    is('refused', await (await fixture.request('s1', lock)).try());
    expect((await fixture.stored(lock)).numbers.moving).toBeUndefined();
    await fixture.passInUse(lock, 10_000);
    is('granted', await (await fixture.request('s1', lock)).try());
  });

  it.each([2, 20])('%i tombstones are kept for a minute after the step, like later ones', async (count) => {
    const lock = fixture.resource();
    const ended = async () => {
      const one = await fixture.request('s1', lock);
      is('granted', await one.try());
      is('released', await one.release(one.secret));
      return one;
    };
    const before: Requester[] = [];
    while (before.length < count) before.push(await ended());
    await fixture.pass(lock, -HOUR_MS);
    const after = await ended();
    await fixture.passInUse(lock, 30_000);
    is('finished', await after.release(after.secret));
    await fixture.passInUse(lock, 31_000);
    for (const one of [...before, after]) is('gone', await one.release(one.secret));
    expect(brokenInvariants(await fixture.stored(lock))).toEqual([]);
  });

  it('an offer lapses at most 3 s after the step', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s2', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    await fixture.pass(lock, -HOUR_MS);
    is('refused', await (await fixture.request('s1', lock)).try());
    const [offer] = (await fixture.stored(lock)).sets.offers;
    expect((offer?.score ?? Infinity) / 1000 - Number(await fixture.now()) / 1000).toBeLessThanOrEqual(3000);
    is('granted', await bob.claim());
  });

  it.each([
    ['counts', 101, 3_000_000],
    ['does not count', 100, 3_100_000],
  ])('a step that %s as a step is one of %i ms', async (_, stepMs, leftUs) => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s2', lock), await fixture.request('s1', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    await fixture.pass(lock, -stepMs);
    await bob.touch();
    const [offer] = (await fixture.stored(lock)).sets.offers;
    expect(Number(offer?.score) - Number(await fixture.now())).toBe(leftUs);
  });

  it('a holder without a record loses its place at once', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const alice = await fixture.request('s1', semaphore);
    is('granted', await alice.try());
    const later = Number(await fixture.now()) + 20_000_000;
    await fixture.addGhost(semaphore, 'ends', later);
    await fixture.pass(semaphore, -HOUR_MS);
    await (await fixture.server('s1')).store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'ends')).toEqual([alice.requestId]);
  });

  it.each([
    ['without a stall before', 0],
    ['after two stalls', 2],
  ])('no server is judged dead in the first 3 s after the step, %s', async (_, stalls) => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s2', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    for (let stall = 0; stall < stalls; stall += 1) {
      await fixture.pass(lock, 3500);
      await bob.touch();
    }
    await fixture.pass(lock, -HOUR_MS);
    is('released', await alice.release(alice.secret));
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
  });

  it('a dead server is judged dead within 5 s, and a live server is not', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 60_000 });
    const [gone, bob] = [await fixture.request('s2', lock), await fixture.request('s3', lock)];
    is('granted', await alice.try());
    is('waiting', await gone.queue());
    is('waiting', await bob.queue());
    await fixture.pass(lock, -HOUR_MS);
    await bob.touch();
    // No server is judged in the first 3 s after the step.
    expect((await fixture.stored(lock)).sets.queue).toHaveLength(2);
    await fixture.passInUse(lock, 5000);
    await fixture.beat(lock, 's3');
    is('released', await alice.release(alice.secret));
    const { records } = await fixture.stored(lock);
    expect(records[gone.requestId]).toMatchObject({ state: 'detached' });
    expect(records[bob.requestId]).toMatchObject({ state: 'offered' });
  });
});

const STEP_MS = 600_000;
const TTL_MS = 20_000;

/** After a step forward, leases seem to have ended. While grants pause for the step, they last longer by the step. */
describe('while grants pause because the clock of Redis was set forward', () => {
  const changed: [key: string, epoch: string][] = [];
  afterEach(async () => {
    for (const [key, epoch] of changed.splice(0)) await fixture.redis.command('SET', key, epoch);
  });

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
        ...['s1', 3_600_000, '', 0, LEASE_LAYOUT, JSON.stringify([lock.name])],
      );
    await fixture.setNumbers(lock, { till: aMinuteAgo + 1 });
    expect(await unlist()).toEqual(['0']);
    await fixture.setNumbers(lock, { till: aMinuteAgo });
    expect(await unlist()).toEqual(['1']);
  });
});
