import { LOCK_LIMIT } from '../../src/leases/lease';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { PARTS } from '../support/leases/lease-stored';
import { is } from '../support/reply-kinds';

describe('lease-inspect', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  it('shows an unused name as free, and stores nothing', async () => {
    const lock = fixture.resource();
    const { store } = await fixture.server('s1');
    expect(await store.inspect(lock)).toEqual({
      name: lock.name,
      limit: undefined,
      usedCount: 0,
      lastFencingToken: 0n,
      holderCount: 0,
      waiterCount: 0,
      holders: [],
      waiters: [],
    });
    for (const part of PARTS)
      expect(await fixture.redis.command('EXISTS', fixture.key(lock, part))).toBe('0');
  });

  it('shows the holders and the waiters in their order', async () => {
    const semaphore = fixture.resource('semaphore');
    const before = Number(await fixture.now()) / 1000;
    const alice = await fixture.request('s1', semaphore, {
      holderId: 'alice',
      permits: 3,
      initialLimit: 4,
      ttlMs: 9000,
    });
    const { fencingToken } = is('granted', await alice.try());
    const bob = await fixture.request('s1', semaphore, {
      holderId: 'bob',
      permits: 2,
      metadata: { why: 'ünïcode "x"' },
    });
    const carol = await fixture.request('s1', semaphore, { holderId: 'carol', permits: 1 });
    await bob.queue();
    await carol.queue();
    const view = await (await fixture.server('s1')).store.inspect(semaphore);
    expect(view).toMatchObject({
      limit: 4,
      usedCount: 3,
      lastFencingToken: fencingToken,
      holderCount: 1,
      waiterCount: 2,
      holders: [{ holderId: 'alice', fencingToken, permitCount: 3, mode: 'exclusive', revoked: false }],
      waiters: [
        { holderId: 'bob', permitCount: 2, position: 1, metadata: { why: 'ünïcode "x"' } },
        { holderId: 'carol', permitCount: 1, position: 2, metadata: {} },
      ],
    });
    const [holder] = view.holders;
    expect(Math.abs((holder?.acquireTimeMs ?? 0) - before)).toBeLessThan(5000);
    expect((holder?.expireTimeMs ?? 0) - (holder?.acquireTimeMs ?? 0)).toBe(9000);
    expect(Math.abs((view.waiters[0]?.enqueueTimeMs ?? 0) - before)).toBeLessThan(5000);
  });

  it('shows an offer as a holder', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    const bob = await fixture.request('s2', lock, { holderId: 'bob' });
    await alice.try();
    await bob.queue();
    await alice.release(alice.secret);
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
    const view = await (await fixture.server('s1')).store.inspect(lock);
    const acquireTimeMs = Number(await fixture.now()) / 1000;
    expect(view).toMatchObject({
      holderCount: 1,
      waiterCount: 0,
      holders: [{ holderId: 'bob', acquireTimeMs }],
    });
  });

  it('shows that a lease is revoked', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    is('granted', await alice.try());
    await fixture.revoke(alice);
    const { holders } = await (await fixture.server('s1')).store.inspect(lock);
    expect(holders).toMatchObject([{ revoked: true }]);
  });

  it('leaves out expired leases that are not purged yet', async () => {
    const semaphore = fixture.resource('semaphore');
    const short = await fixture.request('s1', semaphore, { permits: 2, initialLimit: 5, ttlMs: 5000 });
    const long = await fixture.request('s1', semaphore, { permits: 1, initialLimit: 5, holderId: 'long' });
    await short.try();
    await long.try();
    await fixture.pass(semaphore, 5001);
    const view = await (await fixture.server('s1')).store.inspect(semaphore);
    expect(view).toMatchObject({ usedCount: 1, holderCount: 1, holders: [{ holderId: 'long' }] });
  });

  it('leaves out a lease and a waiter without a record', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s1', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    const now = Number(await fixture.now());
    for (const [part, score] of [
      ['ends', now - 1],
      ['ends', now + 1],
      ['queue', 1],
    ] as const)
      await fixture.addGhost(lock, part, score);
    const view = await alice.server.store.inspect(lock);
    expect(view).toMatchObject({ usedCount: LOCK_LIMIT, holders: [{}], waiters: [{ position: 2 }] });
  });

  it.each(['granted', 'queued'])(
    'leaves out a lease and a waiter without a readable time: %s',
    async (what) => {
      const lock = fixture.resource();
      const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s1', lock)];
      is('granted', await alice.try());
      is('waiting', await bob.queue());
      const edited = what === 'granted' ? alice : bob;
      for (const value of ['nil', "'soon'"]) {
        await fixture.redis.command(
          'EVAL',
          `local record = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))
         record[ARGV[2]] = ${value}
         redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(record))`,
          1,
          fixture.key(lock, 'state'),
          `r${edited.requestId}`,
          what[0] as string,
        );
        const { holderCount, holders, waiterCount, waiters } = await alice.server.store.inspect(lock);
        expect([holderCount, waiterCount]).toEqual([1, 1]);
        expect([holders.length, waiters.length]).toEqual(what === 'granted' ? [0, 1] : [1, 0]);
      }
    },
  );

  it('changes nothing, even if leases have expired', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 5000 });
    await alice.try();
    await (await fixture.request('s1', lock)).queue();
    await fixture.pass(lock, 10_001);
    const before = await fixture.stored(lock);
    const { store } = await fixture.server('s1');
    for (let i = 0; i < 3; i += 1) await store.inspect(lock);
    expect(await fixture.stored(lock)).toEqual(before);
  });

  it('counts all holders and waiters and shows the first 16 of each', async () => {
    const lock = fixture.resource();
    for (let i = 0; i < 20; i += 1)
      is('granted', await (await fixture.request('s1', lock, { mode: 'shared' })).try());
    for (let i = 0; i < 20; i += 1) is('waiting', await (await fixture.request('s1', lock)).queue());
    const view = await (await fixture.server('s1')).store.inspect(lock);
    expect(view).toMatchObject({ holderCount: 20, waiterCount: 20, usedCount: 20 });
    expect(view.holders).toHaveLength(16);
    expect(view.holders.every(({ mode }) => mode === 'shared')).toBe(true);
    expect(view.waiters.map(({ position }) => position)).toEqual(Array.from({ length: 16 }, (_, i) => i + 1));
  });

  it('shows the last fencing token of a free lock', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    const { fencingToken } = is('granted', await alice.try());
    await alice.release(alice.secret);
    expect(await (await fixture.server('s1')).store.inspect(lock)).toMatchObject({
      usedCount: 0,
      holderCount: 0,
      lastFencingToken: fencingToken,
    });
  });
});
