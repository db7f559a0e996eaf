import { randomUUID } from 'node:crypto';
import { brokenInvariants } from '../support/leases/lease-invariants';
import { LeaseFixture } from '../support/leases/lease-fixture';
import type { Requester } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

const MOST_INLINE = 16;
const FEW_INLINE = 8;

describe('the head of a resource', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  it('expires an hour after the last end, the retention time, and a minute', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    const expiry = async () =>
      Number(await fixture.redis.command('PEXPIRETIME', fixture.key(lock, 'state'))) -
      Math.floor(Number(await fixture.now()) / 1000);
    expect(await expiry()).toBe(20_000 + 3_600_000 + 60_000);
    // A renewal within this minute does not move the expiry.
    await fixture.passInUse(lock, 19_000);
    is('granted', await alice.renew(alice.secret));
    expect(await expiry()).toBe(20_000 + 3_600_000 + 60_000);
  });

  it('never counts fewer than 0 permits in use, although the number was edited manually', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    is('granted', await alice.try());
    await fixture.setNumbers(lock, { used: 0 });
    is('released', await alice.release(alice.secret));
    expect((await fixture.stored(lock)).numbers.used).toBe('0');
    is('granted', await (await fixture.request('s1', lock)).try());
  });

  it.each([6, 60])(
    'counts as the head of an unknown resource if a manual edit left %i bytes',
    async (bytes) => {
      const lock = fixture.resource();
      const [alice, bob, carol] = (await fixture.requests(3, 's1', lock)) as [
        Requester,
        Requester,
        Requester,
      ];
      is('granted', await alice.try());
      is('waiting', await bob.queue());
      await fixture.redis.command('HSET', fixture.key(lock, 'state'), 'h', 'x'.repeat(bytes));
      is('gone', await alice.renew(alice.secret));
      is('granted', await carol.try());
      const { numbers, sets } = await fixture.stored(lock);
      expect(numbers).toMatchObject({ ends: '1', queue: '0' });
      expect(sets.ends.map(({ id }) => id)).toEqual([carol.requestId]);
      is('released', await carol.release(carol.secret));
    },
  );
});

/** Leases are in the head of a resource, or in a sorted set if there are many (leases/scripts/shared/layout.lua). */
describe('the leases of a semaphore', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  async function held(count: number) {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 100));
    const holders = await fixture.requests(count, 's1', semaphore, { ttlMs: 20_000 });
    for (const holder of holders) is('granted', await holder.try());
    const isSpilled = async () => (await fixture.stored(semaphore)).numbers.isSpilled === '1';
    const check = async () => {
      expect(brokenInvariants(await fixture.stored(semaphore))).toEqual([]);
      const expiries = await Promise.all(
        (['state', 'ends'] as const).map((part) =>
          fixture.redis.command('PEXPIRETIME', fixture.key(semaphore, part)),
        ),
      );
      // -2: there is no such key.
      expect(new Set(expiries.filter((time) => time !== '-2')).size).toBe(1);
    };
    return { semaphore, holders, isSpilled, check };
  }

  it.each([
    [MOST_INLINE - 1, false],
    [MOST_INLINE, false],
    [MOST_INLINE + 1, true],
  ])('are in the sorted set if they are more than 16 (%i: %p)', async (count, expected) => {
    const { semaphore, holders, isSpilled, check } = await held(count);
    expect(await isSpilled()).toBe(expected);
    expect(await fixture.redis.command('EXISTS', fixture.key(semaphore, 'ends'))).toBe(expected ? '1' : '0');
    expect((await fixture.stored(semaphore)).sets.ends).toHaveLength(count);
    await check();
    await fixture.passInUse(semaphore, 1000);
    for (const holder of holders) is('granted', await holder.renew(holder.secret));
    const [first] = holders as [Requester];
    is('granted', await first.renew(first.secret, 200_000));
    await check();
  });

  it('return to the head when 8 are left, and all of them still can be renewed and released', async () => {
    const { semaphore, holders, isSpilled, check } = await held(MOST_INLINE + 1);
    while (holders.length > FEW_INLINE) {
      expect(await isSpilled()).toBe(true);
      const holder = holders.shift() as Requester;
      is('released', await holder.release(holder.secret));
      await check();
    }
    expect(await isSpilled()).toBe(false);
    expect(await fixture.redis.command('EXISTS', fixture.key(semaphore, 'ends'))).toBe('0');
    for (const holder of holders) is('granted', await holder.renew(holder.secret));
    for (const holder of holders) is('released', await holder.release(holder.secret));
    expect((await fixture.stored(semaphore)).numbers).toMatchObject({ used: '0', ends: '0' });
  });

  it.each([MOST_INLINE, MOST_INLINE + 1])('end at their time, if they are %i', async (count) => {
    const { semaphore, holders, check } = await held(count);
    const last = holders.at(-1) as Requester;
    await fixture.passInUse(semaphore, 10_000);
    is('granted', await last.renew(last.secret));
    await fixture.passInUse(semaphore, 10_001);
    const waiter = await fixture.request('s1', semaphore, { permits: 100 });
    is('waiting', await waiter.queue());
    expect((await fixture.stored(semaphore)).sets.ends.map(({ id }) => id)).toEqual([last.requestId]);
    await check();
    await fixture.passInUse(semaphore, 10_000);
    is('granted', await waiter.claim());
  });

  it.each([
    ['the first', 0, 1000],
    ['the last in the head', MOST_INLINE - 1, 1000],
    ['the first in the set', MOST_INLINE, 1000],
    ['a later one in the set', MOST_INLINE + 2, 1000],
  ])('end at their time if %s has the earliest end', async (_, position, ttlMs) => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 100));
    for (let i = 0; i < MOST_INLINE + 4; i += 1) {
      const options = { ttlMs: i === position ? ttlMs : 20_000 };
      is('granted', await (await fixture.request('s1', semaphore, options)).try());
    }
    await fixture.passInUse(semaphore, ttlMs + 1);
    is('granted', await (await fixture.request('s1', semaphore, { permits: 100 - MOST_INLINE - 3 })).try());
    const stored = await fixture.stored(semaphore);
    expect(stored.numbers).toMatchObject({ used: '100', ends: String(MOST_INLINE + 4) });
    expect(brokenInvariants(stored)).toEqual([]);
  });

  it.each([MOST_INLINE, MOST_INLINE + 4])(
    'end after their ttl although their ends were edited manually, if they are %i',
    async (count) => {
      const { semaphore, holders } = await held(count);
      for (const holder of holders) await fixture.setEnd(holder, '+inf');
      const server = await fixture.server('s1');
      await fixture.passInUse(semaphore, 20_001);
      await server.store.touch(semaphore, []);
      await fixture.passInUse(semaphore, 20_001);
      await server.store.touch(semaphore, []);
      expect((await fixture.stored(semaphore)).numbers).toMatchObject({ used: '0', ends: '0' });
    },
  );

  it('count again when they return to the head, although some were deleted manually', async () => {
    const { semaphore, holders } = await held(MOST_INLINE + 1);
    const [first, second, ...others] = holders as [Requester, Requester, ...Requester[]];
    for (const one of [first, second]) {
      await fixture.redis.command('ZREM', fixture.key(semaphore, 'ends'), one.requestId);
    }
    while (others.length > FEW_INLINE - 2) {
      const holder = others.shift() as Requester;
      is('released', await holder.release(holder.secret));
    }
    const { numbers, sets } = await fixture.stored(semaphore);
    expect(numbers).toMatchObject({ isSpilled: '0', ends: String(others.length) });
    expect(sets.ends).toHaveLength(others.length);
    for (const holder of others) is('granted', await holder.renew(holder.secret));
  });

  it('have no part in the leases of a state that was deleted manually', async () => {
    const { semaphore } = await held(MOST_INLINE + 1);
    await fixture.redis.command('DEL', fixture.key(semaphore, 'state'));
    const holders = await fixture.requests(MOST_INLINE + 1, 's1', semaphore);
    for (const holder of holders) is('granted', await holder.try());
    const { numbers, sets } = await fixture.stored(semaphore);
    expect(numbers.ends).toBe(String(MOST_INLINE + 1));
    expect(sets.ends).toHaveLength(MOST_INLINE + 1);
  });

  it.each([5, MOST_INLINE, MOST_INLINE + 1])(
    'are shown with the earliest end first, if they are %i',
    async (count) => {
      const semaphore = fixture.resource('semaphore');
      is('set', await fixture.setLimit(semaphore, 100));
      const seconds = Array.from({ length: count }, (_, i) => 10 + ((i * 7 + 3) % count));
      for (const s of seconds)
        is('granted', await (await fixture.request('s1', semaphore, { ttlMs: s * 1000 })).try());
      const view = await (await fixture.server('s1')).store.inspect(semaphore);
      expect(view).toMatchObject({ usedCount: count, holderCount: count });
      const now = Number(await fixture.now()) / 1000;
      const sorted = seconds.sort((a, b) => a - b).slice(0, 16);
      expect(view.holders.map(({ expireTimeMs }) => Math.round((expireTimeMs - now) / 1000))).toEqual(sorted);
      const waiter = await fixture.request('s1', semaphore, { permits: 100 });
      expect(is('waiting', await waiter.queue()).snapshot.earliestEndMs).toBe(10_000);
    },
  );

  it.each([3, MOST_INLINE + 1])(
    'are shown in the order of ids if they end together, if they are %i',
    async (count) => {
      const semaphore = fixture.resource('semaphore');
      is('set', await fixture.setLimit(semaphore, 100));
      const tokens: [id: string, token: bigint][] = [];
      for (let i = 0; i < count; i += 1) {
        // Neither the first nor the last request has the least id.
        const requestId = randomUUID().replace(/^../, String(10 + (i ^ 1)));
        const one = await fixture.request('s1', semaphore, { requestId, ttlMs: 20_000 });
        tokens.push([requestId, is('granted', await one.try()).fencingToken]);
      }
      const sorted = tokens.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, token]) => token);
      const view = await (await fixture.server('s1')).store.inspect(semaphore);
      expect(view.holders.map(({ fencingToken }) => fencingToken)).toEqual(sorted.slice(0, 16));
      const waiter = await fixture.request('s1', semaphore, { permits: 100 });
      expect(is('waiting', await waiter.queue()).snapshot.holder?.fencingToken).toBe(sorted[0]);
    },
  );
});
