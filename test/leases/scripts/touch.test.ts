import { LOCK_LIMIT } from '../../../src/leases/lease';
import { eventually } from '../../support/eventually';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import { OFFERED_TTL_MS, type Requester } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

describe('lease-touch', () => {
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

/** Offers, kept places and servers that are judged a second time, or one after the other. */
describe('a script that judges offers and servers', () => {
  it('extends an offer in a stall, although the kept place of the waiter was extended before', async () => {
    const lock = fixture.resource();
    const [alice, bob, carol] = [
      await fixture.request('s1', lock, { ttlMs: 60_000 }),
      await fixture.request('s2', lock),
      await fixture.request('s1', lock),
    ];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('waiting', await carol.queue());
    is('withdrawn', await bob.withdraw());
    await fixture.pass(lock, 12_000);
    await carol.touch();
    expect((await fixture.stored(lock)).records[bob.requestId]).toMatchObject({ extended: '1' });
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    await fixture.pass(lock, 5000);
    await carol.touch();
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
  });

  it('extends a kept place in a stall, although the offer of the waiter was extended before', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s2', lock)];
    const { store } = await fixture.server('s1');
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    await fixture.pass(lock, 5000);
    await store.touch(lock, []);
    expect((await fixture.stored(lock)).records[bob.requestId]).toMatchObject({ extended: '1' });
    await fixture.passInUse(lock, 3001);
    await store.touch(lock, []);
    await fixture.pass(lock, 12_000);
    await store.touch(lock, []);
    expect(await fixture.idsIn(lock, 'detached')).toEqual([bob.requestId]);
  });

  it('forgets one kept place that is due, and counts the other', async () => {
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock, { ttlMs: 60_000 })).try());
    const [bob, carol] = [await fixture.request('s1', lock), await fixture.request('s1', lock)];
    for (const one of [bob, carol]) {
      await fixture.passInUse(lock, 5000);
      is('waiting', await one.queue());
      is('withdrawn', await one.withdraw());
    }
    await fixture.passInUse(lock, 5001);
    is('refused', await (await fixture.request('s1', lock)).try());
    const stored = await fixture.stored(lock);
    expect(stored.sets.detached.map(({ id }) => id)).toEqual([carol.requestId]);
    expect(brokenInvariants(stored)).toEqual([]);
  });

  it('removes an offer and a kept place without a record, even if they are due after a stall', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s1', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    const now = Number(await fixture.now());
    for (const part of ['offers', 'detached'] as const) await fixture.addGhost(lock, part, now);
    await fixture.pass(lock, 5000);
    expect((await bob.touch()).waiters).toEqual([1]);
    for (const part of ['offers', 'detached'] as const) expect(await fixture.idsIn(lock, part)).toEqual([]);
  });

  it('lets each of two offers lapse in time', async () => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 2));
    const [alice, bob] = [await fixture.request('s1', semaphore), await fixture.request('s1', semaphore)];
    const [carol, dave] = [await fixture.request('s2', semaphore), await fixture.request('s2', semaphore)];
    for (const holder of [alice, bob]) is('granted', await holder.try());
    for (const waiter of [carol, dave]) is('waiting', await waiter.queue());
    is('released', await alice.release(alice.secret));
    await fixture.passInUse(semaphore, 1000);
    is('released', await bob.release(bob.secret));
    await fixture.passInUse(semaphore, 2001);
    await (await fixture.server('s1')).store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'offers')).toEqual([dave.requestId]);
    expect(await fixture.idsIn(semaphore, 'detached')).toEqual([carol.requestId]);
    await fixture.passInUse(semaphore, 1000);
    await (await fixture.server('s1')).store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'offers')).toEqual([]);
  });

  it('detaches the waiters at the head of the queue if their server dies right after a walk for another server', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 60_000 });
    const [bob, carol, dave] = [
      await fixture.request('s3', lock),
      await fixture.request('s2', lock),
      await fixture.request('s1', lock),
    ];
    is('granted', await alice.try());
    for (const waiter of [bob, carol, dave]) is('waiting', await waiter.queue());
    await fixture.passInUse(lock, 7000);
    await fixture.beat(lock, 's3');
    await fixture.passInUse(lock, 3001);
    await dave.touch();
    expect(await fixture.idsIn(lock, 'queue')).toEqual([bob.requestId, dave.requestId]);
    await fixture.passInUse(lock, 7000);
    await dave.touch();
    expect(await fixture.idsIn(lock, 'queue')).toEqual([dave.requestId]);
    expect(await fixture.idsIn(lock, 'live')).toEqual(['s1']);
  });
});

/** A script ends expired leases before its own step, so each script must offer the freed permits. */
describe('a script that finds an expired lease', () => {
  /** Alice and an expired lease hold the two permits of a semaphore. Carol waits for one, and dave left his place. */
  async function scene(waiterTtlMs: number) {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const make = (ttlMs = 60_000) => fixture.request('s1', semaphore, { ttlMs });
    const [alice, ended, carol, dave] = [
      await make(),
      await make(5000),
      await make(waiterTtlMs),
      await make(),
    ];
    is('granted', await alice.try());
    is('granted', await ended.try());
    is('waiting', await carol.queue());
    is('waiting', await dave.queue());
    is('withdrawn', await dave.withdraw());
    await fixture.passInUse(semaphore, 5001);
    await fixture.beat(semaphore, 's1');
    const stranger = await make();
    const large = await fixture.request('s1', semaphore, { permits: 3 });
    return { semaphore, alice, ended, carol, dave, stranger, large };
  }
  type Scene = Awaited<ReturnType<typeof scene>>;

  const other = ({ alice, semaphore }: Scene): Promise<Requester> =>
    fixture.request('s1', semaphore, { requestId: alice.requestId });

  const scripts: Record<string, readonly [kind: string, act: (by: Scene) => Promise<{ kind: string }>]> = {
    'a new acquire that waits': ['waiting', ({ stranger }) => stranger.queue()],
    'a new acquire that does not wait': ['refused', ({ stranger }) => stranger.try()],
    'an acquire that never fits': ['never-fits', ({ large }) => large.try()],
    'a repeated acquire of a held lease': ['granted', ({ alice }) => alice.try()],
    'a claim that never fits': ['never-fits', ({ large }) => large.claim()],
    'a renewal': ['granted', ({ alice }) => alice.renew(alice.secret)],
    'a renewal of the expired lease': ['finished', ({ ended }) => ended.renew(ended.secret)],
    'a renewal with a wrong secret': ['gone', ({ alice }) => alice.renew('wrong')],
    'a renewal by a stream that does not speak for the lease': [
      'superseded',
      async (by) => (await other(by)).keepAlive(by.alice.secret),
    ],
    'a release of the expired lease': ['finished', ({ ended }) => ended.release(ended.secret)],
    'a release with a wrong secret': ['gone', ({ alice }) => alice.release('wrong')],
    'a release after `lost` by a stream that was not answered': [
      'superseded',
      async (by) => (await other(by)).releaseAfterLoss(by.alice.secret),
    ],
    'a withdrawal without a place': ['withdrawn', ({ stranger }) => stranger.withdraw()],
    'a withdrawal of a kept place': ['withdrawn', ({ dave }) => dave.giveBack()],
    'a touch without waiters': [
      'touched',
      async ({ semaphore }) => {
        await (await fixture.server('s1')).store.touch(semaphore, []);
        return { kind: 'touched' };
      },
    ],
    'an unchanged limit': ['set', ({ semaphore }) => fixture.setLimit(semaphore, 2)],
  };

  it.each(Object.keys(scripts))(
    'offers its permits to the next waiter if the waiter has a long ttl, and the script is %s',
    async (what) => {
      const by = await scene(OFFERED_TTL_MS);
      const [kind, act] = scripts[what] as (typeof scripts)[string];
      expect((await act(by)).kind).toBe(kind);
      expect(await fixture.idsIn(by.semaphore, 'offers')).toEqual([by.carol.requestId]);
      expect(brokenInvariants(await fixture.stored(by.semaphore))).toEqual([]);
    },
  );

  it.each(Object.keys(scripts))(
    'grants its permits to the next waiter of the same server, if the script is %s',
    async (what) => {
      const by = await scene(60_000);
      const server = await fixture.server('s1');
      server.grants = [];
      const [kind, act] = scripts[what] as (typeof scripts)[string];
      expect((await act(by)).kind).toBe(kind);
      const { requestId, attach, secret } = by.carol;
      const { numbers, sets } = await fixture.stored(by.semaphore);
      expect(server.grants).toMatchObject([
        {
          call: { requestId, attach },
          grant: {
            fencingToken: BigInt(numbers.token as string),
            remainingMs: 60_000,
            ttlMs: 60_000,
            secret,
            permits: 1,
          },
        },
      ]);
      expect(sets.ends.map(({ id }) => id)).toContain(requestId);
      expect(brokenInvariants(await fixture.stored(by.semaphore))).toEqual([]);
    },
  );
});
