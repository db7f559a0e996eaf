import { LOCK_LIMIT } from '../../src/leases/lease';
import { eventually } from '../support/eventually';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { OFFERED_TTL_MS, type Requester } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

describe('lease-touch', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  const touchAll = (waiters: readonly Requester[]) => {
    const [{ server, resource }] = waiters as [Requester];
    return server.store.touch(
      resource,
      waiters.map(({ wanted }) => wanted),
    );
  };

  it('answers the position of each waiter and the end of the earliest lease', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 5000, holderId: 'alice' });
    await alice.try();
    const waiters = [
      await fixture.request('s1', lock),
      await fixture.request('s1', lock),
      await fixture.request('s1', lock),
    ];
    for (const waiter of waiters) await waiter.queue();
    const { waiters: words, snapshot } = await touchAll([...waiters].reverse());
    expect(words).toEqual([3, 2, 1]);
    expect(snapshot).toMatchObject({ waiterCount: 3, holder: { holderId: 'alice' } });
    expect(snapshot.earliestEndMs).toBeGreaterThan(4000);
    expect(snapshot.earliestEndMs).toBeLessThanOrEqual(5000);
  });

  it('answers an offer as the holder if there is no lease', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [
      await fixture.request('s1', lock),
      await fixture.request('s1', lock, { holderId: 'bob', ttlMs: OFFERED_TTL_MS }),
    ];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    const expireTimeMs = Number(await fixture.now()) / 1000 + 3000;
    expect((await bob.touch()).snapshot).toMatchObject({
      holder: { holderId: 'bob', expireTimeMs },
      holderEndMs: 3000,
    });
  });

  it('answers the end of an offer that lapses before the first lease ends', async () => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 2));
    const [alice, bob] = [await fixture.request('s1', semaphore), await fixture.request('s1', semaphore)];
    for (const holder of [alice, bob]) is('granted', await holder.try());
    const carol = await fixture.request('s1', semaphore, { ttlMs: OFFERED_TTL_MS });
    const dave = await fixture.request('s1', semaphore);
    for (const waiter of [carol, dave]) is('waiting', await waiter.queue());
    is('released', await alice.release(alice.secret));
    const expireTimeMs = Number(await fixture.now()) / 1000 + 30_000;
    expect((await dave.touch()).snapshot).toMatchObject({
      earliestEndMs: 3000,
      holder: { expireTimeMs },
      holderEndMs: 30_000,
    });
  });

  it('answers no end of a lease if there is no holder', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    await alice.try();
    await alice.release(alice.secret);
    expect((await (await fixture.server('s1')).store.touch(lock, [])).snapshot).toEqual({
      earliestEndMs: undefined,
      waiterCount: 0,
      holder: undefined,
      holderEndMs: undefined,
      limit: LOCK_LIMIT,
      usedCount: 0,
    });
  });

  it('answers for each request whether the server must recheck it or the request is superseded', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    await alice.try();
    const [offered, taken, left] = [
      await fixture.request('s1', lock),
      await fixture.request('s1', lock),
      await fixture.request('s1', lock),
    ];
    for (const waiter of [offered, taken, left]) await waiter.queue();
    await (await fixture.request('s2', lock, { requestId: taken.requestId })).queue();
    await left.withdraw();
    await alice.release(alice.secret);
    const unknown = await fixture.request('s1', lock);
    expect((await touchAll([offered, taken, left, unknown])).waiters).toEqual([
      'recheck',
      'superseded',
      'recheck',
      'recheck',
    ]);
  });

  it('offers an expired lock to a waiter of the same server with a long ttl, and names the waiter in the reply', async () => {
    const lock = fixture.resource();
    await (await fixture.request('s1', lock, { ttlMs: 5000 })).try();
    const bob = await fixture.request('s1', lock, { ttlMs: OFFERED_TTL_MS });
    await bob.queue();
    await fixture.passInUse(lock, 5001);
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    expect((await fixture.server('s1')).rechecks).toContain(bob.requestId);
    is('granted', await bob.claim());
  });

  it('names a waiter with an offer in the reply, in case its hint was lost', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    const bob = await fixture.request('s2', lock);
    await alice.try();
    await bob.queue();
    await alice.release(alice.secret);
    const s2 = await fixture.server('s2');
    s2.rechecks = [];
    // The touch asks about another waiter, and its reply still names the waiter with the offer.
    await s2.store.touch(lock, [(await fixture.request('s2', lock)).wanted]);
    expect(s2.rechecks).toEqual([bob.requestId]);
    s2.rechecks = [];
    await s2.store.touch(lock, []);
    expect(s2.rechecks).toEqual([]);
  });

  it('sends a hint to another server when it offers permits to a waiter of that server', async () => {
    const lock = fixture.resource();
    const s3 = await fixture.server('s3');
    await fixture.listen(s3);
    await (await fixture.request('s1', lock, { ttlMs: 5000 })).try();
    const bob = await fixture.request('s3', lock);
    await bob.queue();
    await fixture.passInUse(lock, 5001);
    await fixture.beat(lock, 's3');
    await (await fixture.server('s1')).store.touch(lock, []);
    await eventually('the hint', () => s3.hinted.includes(bob.requestId));
  });

  it('moves the expiry of all keys later, because a request may wait longer than an idle name is kept', async () => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 0));
    const bob = await fixture.request('s1', semaphore);
    is('waiting', await bob.queue());
    const parts = ['state', 'queue', 'live'] as const;
    const expiries = () =>
      Promise.all(parts.map((part) => fixture.redis.command('PEXPIRETIME', fixture.key(semaphore, part))));
    const before = await expiries();
    expect(new Set(before).size).toBe(1);
    for (const part of parts) await fixture.redis.command('PEXPIRE', fixture.key(semaphore, part), 3_600_000);
    const edited = await expiries();
    await bob.touch();
    expect(await expiries()).toEqual(edited);
    // As if the keys had been about to expire.
    await fixture.setNumbers(semaphore, { expires: Number(await fixture.now()) });
    await bob.touch();
    expect(await expiries()).toEqual(before);
  });

  it('changes no lease and no waiter', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    const bob = await fixture.request('s1', lock);
    await alice.try();
    await bob.queue();
    const before = await fixture.stored(lock);
    await touchAll([alice, bob]);
    const after = await fixture.stored(lock);
    expect(after.records).toEqual(before.records);
    expect(after.sets.ends).toEqual(before.sets.ends);
    expect(after.sets.queue).toEqual(before.sets.queue);
  });
});
