import { LOCK_LIMIT, type Resource } from '../../src/leases/lease';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { GHOST_ID, PARTS } from '../support/leases/lease-stored';
import { is } from '../support/reply-kinds';

/** Scripts write no lease without an end. After a manual edit in Redis, the next script repairs such a lease. */
describe('after a manual edit of a lock in Redis (chapter 24),', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  async function keysWithoutExpiry(lock: Resource): Promise<string[]> {
    const ttls = await Promise.all(
      PARTS.map((part) => fixture.redis.command('PTTL', fixture.key(lock, part))),
    );
    return PARTS.filter((_, index) => ttls[index] === '-1');
  }

  it('permits that are in use without a holder are granted to the next request', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    is('granted', await alice.try());
    is('released', await alice.release(alice.secret));
    await fixture.setNumbers(lock, { used: LOCK_LIMIT });
    is('granted', await (await fixture.request('s1', lock)).try());
    is('refused', await (await fixture.request('s2', lock)).try());
    expect(await keysWithoutExpiry(lock)).toEqual([]);
  });

  it('a holder without a record is removed, and the next request gets the lock', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    is('granted', await alice.try());
    await fixture.redis.command('HDEL', fixture.key(lock, 'state'), `r${alice.requestId}`);
    is('gone', await alice.renew(alice.secret));
    await fixture.addGhost(lock, 'ends', '+inf');
    await fixture.passInUse(lock, 30_000);
    is('granted', await (await fixture.request('s2', lock)).try());
    expect(await keysWithoutExpiry(lock)).toEqual([]);
  });

  it('an offer, a waiter and a kept place without a record are removed, and disturb no other request', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s1', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    const soon = Number(await fixture.now()) + 1_000_000;
    for (const [part, score] of [
      ['offers', soon],
      ['queue', 1],
      ['detached', soon],
    ] as const)
      await fixture.addGhost(lock, part, score);
    expect((await bob.touch()).waiters).toEqual([2]);
    await fixture.passInUse(lock, 1001);
    is('released', await alice.release(alice.secret));
    is('granted', await bob.claim());
    const { sets } = await fixture.stored(lock);
    expect(Object.values(sets).flatMap((members) => members.map(({ id }) => id))).not.toContain(GHOST_ID);
  });

  it('a lease without an end ends one ttl after the next script', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    await fixture.setEnd(alice, '+inf');
    const bob = await fixture.request('s1', lock);
    is('waiting', await bob.queue());
    await fixture.passInUse(lock, 19_000);
    await fixture.beat(lock, 's1');
    expect((await bob.touch()).waiters).toEqual([1]);
    await fixture.passInUse(lock, 1000);
    await fixture.beat(lock, 's1');
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    is('finished', await alice.try());
    is('granted', await bob.claim());
  });

  it.each([
    ['keeps', 0, 86_400_000_000],
    ['loses', 1_000_000, 20_000_000],
  ])('a lease %s its end if the end is later than 24 h by %i us', async (_, laterUs, leftUs) => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    const now = Number(await fixture.now());
    const end = now + 86_400_000_000 + laterUs;
    await fixture.setEnd(alice, end);
    is('waiting', await (await fixture.request('s1', lock)).queue());
    expect((await fixture.stored(lock)).sets.ends).toMatchObject([{ score: now + leftUs }]);
  });

  it('a lease without an end ends one ttl after the next renewal of the holder', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 20_000, stream: true });
    is('granted', await alice.try());
    await fixture.setEnd(alice, '+inf');
    expect(is('granted', await alice.try()).remainingMs).toBe(20_000);
    expect(is('granted', await alice.keepAlive(alice.secret)).remainingMs).toBe(20_000);
    await fixture.passInUse(lock, 20_000);
    is('granted', await (await fixture.request('s1', lock)).try());
  });

  it('a lease with persistent keys ends, and its keys get an expiry again with a later lease', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    for (const part of PARTS) await fixture.redis.command('PERSIST', fixture.key(lock, part));
    expect(await keysWithoutExpiry(lock)).not.toEqual([]);
    await fixture.passInUse(lock, 20_000);
    is('granted', await (await fixture.request('s1', lock, { ttlMs: 120_000 })).try());
    expect(await keysWithoutExpiry(lock)).toEqual([]);
  });
});
