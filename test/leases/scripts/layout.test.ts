import { randomUUID } from 'node:crypto';
import type { Resource } from '../../../src/leases/lease';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import type { Requester, RequesterOptions } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

const MOST_INLINE = 16;
const FEW_INLINE = 8;

describe('the head of a resource', () => {
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

const REMEMBER_MS = 60_000;
const RELEASED = { kind: 'finished', cause: 'released' };

/** Tombstones are in the head of a resource, the older ones in two hashes (leases/scripts/shared/transitions.lua). */
describe('the tombstones of a name', () => {
  /** A request whose lease was released. */
  async function endedLease(lock: Resource, options?: RequesterOptions): Promise<Requester> {
    const one = await fixture.request('s1', lock, options);
    is('granted', await one.try());
    is('released', await one.release(one.secret));
    return one;
  }

  async function endedLeases(lock: Resource, count: number): Promise<Requester[]> {
    const all: Requester[] = [];
    while (all.length < count) all.push(await endedLease(lock));
    return all;
  }

  const places = async (lock: Resource) => (await fixture.stored(lock)).places;
  const answer = (one: Requester) => one.release(one.secret);
  /** Deletes the record of a tombstone manually. */
  const deleteRecord = ({ resource, requestId }: Requester) =>
    fixture.redis.command('HDEL', fixture.key(resource, 'state'), `r${requestId}`);

  it('are in the head if they are at most 16, and the oldest nine move together', async () => {
    const lock = fixture.resource();
    await endedLeases(lock, MOST_INLINE);
    expect(await places(lock)).toEqual({ inline: MOST_INLINE, past: 0 });
    await endedLease(lock);
    expect(await places(lock)).toEqual({ inline: 8, past: 9 });
  });

  it('answer in both places for a minute, and are gone afterwards', async () => {
    const lock = fixture.resource();
    const all = await endedLeases(lock, 40);
    expect(Object.keys((await fixture.stored(lock)).records)).toHaveLength(40);
    for (const one of all) expect(await answer(one)).toEqual(RELEASED);
    await fixture.passInUse(lock, REMEMBER_MS + 1);
    for (const one of all) expect(await answer(one)).toEqual({ kind: 'gone' });
    expect((await fixture.stored(lock)).records).not.toHaveProperty((all.at(-1) as Requester).requestId);
  });

  it('are forgotten one by one, each a minute after its end', async () => {
    const lock = fixture.resource();
    const [first, second] = [await endedLease(lock), await endedLease(lock)];
    await fixture.passInUse(lock, 1000);
    const third = await endedLease(lock);
    await fixture.passInUse(lock, REMEMBER_MS - 1000);
    expect([await answer(first), await answer(second)]).toEqual([{ kind: 'gone' }, { kind: 'gone' }]);
    expect(await answer(third)).toEqual(RELEASED);
  });

  it('are complete if one script ends more leases than the head has room for', async () => {
    const semaphore = fixture.resource('semaphore');
    const all = await fixture.requests(40, 's1', semaphore, { initialLimit: 40, ttlMs: 1000 });
    for (const one of all) is('granted', await one.try());
    await fixture.passInUse(semaphore, 1001);
    await (await fixture.server('s1')).store.touch(semaphore, []);
    expect(await places(semaphore)).toEqual({ inline: 8, past: 32 });
    const fields = await fixture.redis.command('HLEN', fixture.key(semaphore, 'state'));
    expect(fields).toBe(String('h'.length + 8));
    for (const one of all) expect(await answer(one)).toEqual({ kind: 'finished', cause: 'expired' });
    expect(brokenInvariants(await fixture.stored(semaphore))).toEqual([]);
  });

  it.each([
    ['one record', 1],
    ['all records', MOST_INLINE],
  ])('move also if %s of them was deleted manually', async (_, count) => {
    const lock = fixture.resource();
    const all = await endedLeases(lock, MOST_INLINE);
    for (const one of all.slice(0, count)) await deleteRecord(one);
    const last = await endedLease(lock);
    expect(await answer(last)).toEqual(RELEASED);
    expect(await answer(all[0] as Requester)).toEqual({ kind: 'gone' });
    expect(await places(lock)).toEqual({ inline: 8, past: Math.max(0, 9 - count) });
  });

  it('without a record remove no later record of a request that claims with its ticket', async () => {
    const lock = fixture.resource();
    const one = await endedLease(lock);
    await deleteRecord(one);
    const again = await fixture.request('s1', lock, { requestId: one.requestId, ttlMs: 2 * REMEMBER_MS });
    is('granted', await again.claim());
    await fixture.passInUse(lock, REMEMBER_MS + 1);
    is(
      'granted',
      await (await fixture.server('s1')).store.touch(lock, []).then(() => again.renew(again.secret)),
    );
  });

  describe('that have moved', () => {
    /** Ends leases until the given tombstone has moved to a `past` hash. */
    async function moved(one: Requester): Promise<void> {
      await endedLeases(one.resource, MOST_INLINE);
      expect((await places(one.resource)).past).toBeGreaterThan(0);
    }

    const inPast = async (one: Requester): Promise<boolean> => {
      const found = ['past1', 'past2'].map((part) =>
        fixture.redis.command('HEXISTS', fixture.key(one.resource, part as 'past1'), one.requestId),
      );
      return (await Promise.all(found)).includes('1');
    };

    /** A lease that expired before its call reported the lease to a client. */
    async function unreported(lock: Resource) {
      const call = await fixture.request('s1', lock, { ttlMs: 100 });
      const { fencingToken } = is('granted', await call.queue());
      await fixture.passInUse(lock, 101);
      await moved(call);
      expect(await inPast(call)).toBe(true);
      return { call, fencingToken };
    }

    it('still give a lease back that no client was told of, and leave nothing behind', async () => {
      const lock = fixture.resource();
      const { call, fencingToken } = await unreported(lock);
      const { ticket } = is('withdrawn', await call.giveBack(fencingToken));
      expect(await inPast(call)).toBe(false);
      expect(is('granted', await call.claim()).fencingToken).toBeGreaterThan(fencingToken);
      expect((await fixture.stored(lock)).records[call.requestId]?.ticket).toBe(ticket);
    });

    it('remember that a second call has learned of the end', async () => {
      const lock = fixture.resource();
      const { call, fencingToken } = await unreported(lock);
      const second = await fixture.request('s1', lock, { requestId: call.requestId });
      expect(await second.queue()).toEqual({ kind: 'finished', cause: 'expired' });
      expect(await inPast(call)).toBe(true);
      const field = `r${call.requestId}`;
      expect(await fixture.redis.command('HEXISTS', fixture.key(lock, 'state'), field)).toBe('0');
      expect(await call.giveBack(fencingToken)).toEqual({ kind: 'finished', cause: 'expired' });
    });

    it('tell a touch of another call that the call was superseded', async () => {
      const one = await endedLease(fixture.resource());
      await moved(one);
      const other = await fixture.request('s1', one.resource, { requestId: one.requestId });
      expect((await other.touch()).waiters).toEqual(['superseded']);
      expect((await one.touch()).waiters).toEqual(['recheck']);
    });

    it('take turns in two hashes of a minute, and the older hash is emptied', async () => {
      const lock = fixture.resource();
      const first = await endedLease(lock);
      await moved(first);
      await fixture.passInUse(lock, REMEMBER_MS + 1);
      const second = await endedLease(lock);
      await moved(second);
      expect([await inPast(first), await inPast(second)]).toEqual([true, true]);
      expect(await answer(first)).toEqual({ kind: 'gone' });
      expect(await answer(second)).toEqual(RELEASED);
      await fixture.passInUse(lock, REMEMBER_MS + 1);
      await moved(await endedLease(lock));
      expect([await inPast(first), await inPast(second)]).toEqual([false, true]);
    });

    it('take turns in two hashes of 10,000, and the older hash is emptied', async () => {
      const lock = fixture.resource();
      const first = await endedLease(lock);
      await moved(first);
      await fixture.setNumbers(lock, { pastCount: 9991 });
      await endedLeases(lock, 9);
      expect((await fixture.stored(lock)).numbers).toMatchObject({ pastNumber: '1', pastCount: '10000' });
      await endedLeases(lock, 9);
      expect((await fixture.stored(lock)).numbers).toMatchObject({ pastNumber: '2', pastCount: '9' });
      expect(await answer(first)).toEqual(RELEASED);
      await fixture.setNumbers(lock, { pastCount: 10_000 });
      await endedLeases(lock, 9);
      expect((await fixture.stored(lock)).numbers).toMatchObject({ pastNumber: '1', pastCount: '9' });
      expect(await answer(first)).toEqual({ kind: 'gone' });
    });

    it('are in hashes that expire after all their tombstones are due', async () => {
      const lock = fixture.resource();
      await moved(await endedLease(lock));
      const expiry = await fixture.redis.command('PEXPIRETIME', fixture.key(lock, 'past1'));
      expect(Number(expiry) - Number(await fixture.now()) / 1000).toBeGreaterThanOrEqual(2 * REMEMBER_MS - 1);
    });
  });

  it('leave only the own tombstone if a lease is given back that no client was told of', async () => {
    const lock = fixture.resource();
    const other = await endedLease(lock);
    const call = await fixture.request('s1', lock, { ttlMs: 100 });
    const { fencingToken } = is('granted', await call.queue());
    await fixture.passInUse(lock, 101);
    await endedLease(lock);
    is('withdrawn', await call.giveBack(fencingToken));
    expect(await fixture.idsIn(lock, 'ended')).not.toContain(call.requestId);
    expect(await fixture.idsIn(lock, 'ended')).toHaveLength(2);
    expect(await answer(other)).toEqual(RELEASED);
    expect(brokenInvariants(await fixture.stored(lock))).toEqual([]);
  });
});
