import type { Resource } from '../../../src/leases/lease';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import { OFFERED_TTL_MS, type Requester } from '../../support/leases/lease-requester';
import { allListed } from '../../support/leases/lease-views';
import { is } from '../../support/reply-kinds';

const LARGEST = 2 ** 31 - 1;

describe('lease-limit with a pause', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  const storedLimit = (semaphore: Resource) => fixture.redis.command('GET', fixture.limitKey(semaphore));

  async function paused(limit: number): Promise<Resource> {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, limit));
    is('set', await fixture.setLimit(semaphore, 'pause'));
    return semaphore;
  }

  async function waiter(server: string, semaphore: Resource, permits = 1): Promise<Requester> {
    const one = await fixture.request(server, semaphore, { permits });
    is('waiting', await one.queue());
    return one;
  }

  it.each([1, 3, LARGEST])('keeps the limit %d, and brings it back at another server', async (limit) => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, limit));
    const { view } = is('set', await fixture.setLimit(semaphore, 'pause'));
    expect(view).toMatchObject({ limit: 0, keptLimit: limit });
    is('refused', await (await fixture.request('s1', semaphore)).try());
    const resumed = is('set', await fixture.setLimit(semaphore, 'resume', { by: 's2' })).view;
    expect(resumed).toMatchObject({ limit, keptLimit: undefined });
    expect(await storedLimit(semaphore)).toBe(String(limit));
    is('granted', await (await fixture.request('s1', semaphore, { permits: limit })).try());
  });

  it('answers a repeated pause and a repeated resume as the first ones, and keeps the first limit', async () => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 3));
    for (let time = 0; time < 2; time += 1) {
      const { view } = is('set', await fixture.setLimit(semaphore, 'pause', { expectedLimit: 3 }));
      expect(view).toMatchObject({ limit: 0, keptLimit: 3 });
    }
    for (let time = 0; time < 2; time += 1) {
      const { view } = is('set', await fixture.setLimit(semaphore, 'resume', { expectedLimit: 0 }));
      expect(view).toMatchObject({ limit: 3, keptLimit: undefined });
    }
  });

  it.each(['pause', 'resume'] as const)('answers UNKNOWN to a %s without a semaphore', async (wish) => {
    const semaphore = fixture.resource('semaphore');
    expect(await fixture.setLimit(semaphore, wish)).toEqual({ kind: 'unknown-resource' });
    const keys = [fixture.limitKey(semaphore), fixture.key(semaphore, 'state')];
    expect(await fixture.redis.command('EXISTS', ...keys)).toBe('0');
  });

  it.each(['pause', 'resume'] as const)(
    'answers NOT_KEPT to a %s at a limit that was set to 0',
    async (wish) => {
      const semaphore = fixture.resource('semaphore');
      is('set', await fixture.setLimit(semaphore, 0));
      expect(await fixture.setLimit(semaphore, wish)).toEqual({ kind: 'no-kept-limit' });
      expect(await storedLimit(semaphore)).toBe('0');
      const initial = fixture.resource('semaphore');
      is('waiting', await (await fixture.request('s1', initial, { initialLimit: 0 })).queue());
      expect(await fixture.setLimit(initial, wish)).toEqual({ kind: 'no-kept-limit' });
      expect(await storedLimit(initial)).toBeNull();
    },
  );

  it('keeps the limit of a semaphore that a request has created, also when its state is forgotten', async () => {
    const semaphore = fixture.resource('semaphore');
    is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 4 })).try());
    is('set', await fixture.setLimit(semaphore, 'pause'));
    await fixture.redis.command('DEL', fixture.key(semaphore, 'state'));
    is('refused', await (await fixture.request('s1', semaphore, { initialLimit: 9 })).try());
    expect(is('set', await fixture.setLimit(semaphore, 'resume')).view.limit).toBe(4);
  });

  it('stores no limit when a resume finds a semaphore that a request has created, and no pause', async () => {
    const semaphore = fixture.resource('semaphore');
    is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 4 })).try());
    expect(is('set', await fixture.setLimit(semaphore, 'resume')).view).toMatchObject({ limit: 4 });
    expect(await storedLimit(semaphore)).toBeNull();
  });

  it.each([0, 2])('forgets the kept limit when the limit %d is set', async (limit) => {
    const semaphore = await paused(3);
    const { view } = is('set', await fixture.setLimit(semaphore, limit));
    expect(view).toMatchObject({ limit, keptLimit: undefined });
    const resumed = await fixture.setLimit(semaphore, 'resume');
    if (limit === 0) is('no-kept-limit', resumed);
    else expect(is('set', resumed).view.limit).toBe(limit);
  });

  it('forgets the kept limit when the semaphore is deleted', async () => {
    const semaphore = await paused(3);
    is('removed', await fixture.remove(semaphore));
    is('unknown-resource', await fixture.setLimit(semaphore, 'resume'));
  });

  it('compares an expected limit with the limit in force, which is 0 during the pause', async () => {
    const semaphore = await paused(3);
    const before = await storedLimit(semaphore);
    const mismatch = { kind: 'limit-mismatch', limit: 0 };
    expect(await fixture.setLimit(semaphore, 5, { expectedLimit: 3 })).toEqual(mismatch);
    expect(await fixture.setLimit(semaphore, 'resume', { expectedLimit: 5 })).toEqual(mismatch);
    expect(await storedLimit(semaphore)).toBe(before);
    is('set', await fixture.setLimit(semaphore, 5, { expectedLimit: 0 }));
    expect(await fixture.setLimit(semaphore, 'pause', { expectedLimit: 3 })).toEqual({
      kind: 'limit-mismatch',
      limit: 5,
    });
  });

  it('leaves holders alone, takes back offers, and grants in the order of the queue after the pause', async () => {
    const { semaphore, holder } = await fixture.fullSemaphore(2);
    const waiters = [await waiter('s2', semaphore), await waiter('s2', semaphore)];
    is('released', await holder.release(holder.secret));
    expect(await fixture.idsIn(semaphore, 'offers')).toHaveLength(2);
    const keeper = await waiter('s1', semaphore, 2);
    is('set', await fixture.setLimit(semaphore, 'pause'));
    expect(await fixture.idsIn(semaphore, 'offers')).toEqual([]);
    for (const one of waiters) is('waiting', await one.claim());
    const { view } = is('set', await fixture.setLimit(semaphore, 'resume'));
    expect(view).toMatchObject({ limit: 2, usedCount: 2, waiterCount: 1 });
    const tokens: bigint[] = [];
    for (const one of waiters) tokens.push(is('granted', await one.claim()).fencingToken);
    expect((tokens[0] as bigint) < (tokens[1] as bigint)).toBe(true);
    is('waiting', await keeper.claim());
    is('set', await fixture.setLimit(semaphore, 'pause'));
    for (const one of waiters) is('granted', await one.renew(one.secret));
    expect(brokenInvariants(await fixture.stored(semaphore))).toEqual([]);
  });

  it('lets a request of any size wait during the pause, and ends it when the limit is back', async () => {
    const semaphore = await paused(3);
    const large = await waiter('s1', semaphore, 5);
    is('set', await fixture.setLimit(semaphore, 'resume'));
    expect(is('never-fits', await large.claim()).limit).toBe(3);
  });

  it('shows the kept limit in a view, a watch and a list, and tells watches when only this limit changes', async () => {
    const semaphore = await paused(3);
    const { store, changed } = await fixture.server('s1');
    expect(await store.inspect(semaphore)).toMatchObject({ limit: 0, keptLimit: 3 });
    expect((await store.watch(semaphore)).view).toMatchObject({ limit: 0, keptLimit: 3 });
    const listed = await allListed(store, 'semaphore');
    expect(listed.find(({ name }) => name === semaphore.name)).toMatchObject({ limit: 0, keptLimit: 3 });
    changed.length = 0;
    is('set', await fixture.setLimit(semaphore, 'pause'));
    expect(changed).toEqual([]);
    is('set', await fixture.setLimit(semaphore, 0));
    expect(changed).toEqual([semaphore.name]);
  });

  // The scripts of servers without pauses read and write the limit in these ways, and in no other.
  it.each([1, 8, 1000, LARGEST])(
    'older servers read 0 while the limit %d is kept, and forget it',
    async (limit) => {
      const semaphore = await paused(limit);
      const key = fixture.limitKey(semaphore);
      const read =
        "local limit = tonumber(redis.call('GET', KEYS[1])) return { limit, string.format('%d', limit) }";
      expect(await fixture.redis.command('EVAL', read, '1', key)).toEqual(['0', '0']);
      await fixture.redis.command('SET', key, '7');
      await fixture.redis.command('DEL', fixture.key(semaphore, 'state'));
      expect(await (await fixture.server('s1')).store.inspect(semaphore)).toMatchObject({
        limit: 7,
        keptLimit: undefined,
      });
    },
  );
});

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
