import type { Resource } from '../../src/leases/lease';
import { brokenInvariants } from '../support/leases/lease-invariants';
import { LeaseFixture } from '../support/leases/lease-fixture';
import type { Requester, RequesterOptions } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

const REMEMBER_MS = 60_000;
const MOST_INLINE = 16;
const RELEASED = { kind: 'finished', cause: 'released' };

/** Tombstones are in the head of a resource, the older ones in two hashes (leases/scripts/shared/transitions.lua). */
describe('the tombstones of a name', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

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
