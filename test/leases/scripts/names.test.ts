import { leaseUnlist } from '../../../generated/redis/scripts';
import { LOCK_LIMIT, type Resource, type Service } from '../../../src/leases/lease';
import { bucketOf, LEASE_LAYOUT } from '../../../src/redis/buckets';
import { namesKeys } from '../../../src/leases/redis/lease-keys';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { Requester } from '../../support/leases/lease-requester';
import { PREFIX, withFrozenClock } from '../../support/leases/lease-server';
import { PARTS } from '../../support/leases/lease-stored';
import { listReads, namesOfOneBucket, newPrefix } from '../../support/leases/lease-views';
import { failureOf, is } from '../../support/reply-kinds';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

const MINUTE = 60_000;

const { listed, counted, heldLock, isIndexed } = listReads(() => fixture);
const isListed = async (resource: Resource) => (await fixture.stored(resource)).numbers.isListed === '1';

function indexKey({ service, name }: Resource): string {
  return namesKeys(PREFIX, service, bucketOf(name))[0];
}

describe('the index of names', () => {
  it('gets a name with its first use, and a name that is used again costs no command', async () => {
    const { lock, holder } = await heldLock();
    expect([await isIndexed(lock), await isListed(lock)]).toEqual([true, true]);
    await fixture.redis.command('CONFIG', 'RESETSTAT');
    is('released', await holder.release(holder.secret));
    is('granted', await (await fixture.request('s1', lock)).try());
    expect(await fixture.redis.command('INFO', 'commandstats')).not.toMatch(/cmdstat_z(add|randmember)/);
    expect([await isIndexed(lock), await isListed(lock)]).toEqual([true, true]);
  });

  it.each(['lock', 'semaphore'] as const)(
    'heals if the head of a %s, or the index, was deleted manually',
    async (service) => {
      const resource = fixture.resource(service);
      const options = { ttlMs: 20_000, ...(service === 'semaphore' && { initialLimit: 1 }) };
      is('granted', await (await fixture.request('s1', resource, options)).try());
      await fixture.redis.command('ZREM', indexKey(resource), resource.name);
      await fixture.redis.command('DEL', fixture.key(resource, 'state'));
      const again = await fixture.request('s1', resource, options);
      is('granted', await again.try());
      expect((await listed(resource)).items).toHaveLength(1);
      // A name in use is put into the index again within ten minutes.
      await fixture.redis.command('ZREM', indexKey(resource), resource.name);
      await fixture.setNumbers(resource, { seen: Number(await fixture.now()) - 600_000_000 });
      is('granted', await again.renew(again.secret));
      expect((await listed(resource)).items).toHaveLength(1);
    },
  );

  it('of locks expires a day after the last use, and that of semaphores never', async () => {
    const [lock, semaphore] = [fixture.resource(), fixture.resource('semaphore')];
    is('granted', await (await fixture.request('s1', lock)).try());
    is('set', await fixture.setLimit(semaphore, 1));
    const expiry = Number(await fixture.redis.command('PEXPIRETIME', indexKey(lock)));
    expect(expiry - Math.floor(Number(await fixture.now()) / 1000)).toBe((24 * 60 + 20) * MINUTE);
    expect(await fixture.redis.command('PTTL', indexKey(semaphore))).toBe('-1');
  });

  it('loses a lock by a list only if nobody has used the lock for a minute', async () => {
    const { lock, holder } = await heldLock();
    is('released', await holder.release(holder.secret));
    await listed(lock);
    expect([await isIndexed(lock), await isListed(lock)]).toEqual([true, true]);
    const { till } = (await fixture.stored(lock)).numbers;
    await fixture.setNumbers(lock, { till: Number(await fixture.now()) - 59_999_999 });
    await listed(lock);
    expect(await isIndexed(lock)).toBe(true);
    await fixture.setNumbers(lock, { till: Number(await fixture.now()) - 60_000_000 });
    await counted(lock);
    expect([await isIndexed(lock), await isListed(lock)]).toEqual([false, false]);
    await fixture.setNumbers(lock, { till: Number(till) });
    // Only a use puts the name back.
    await (await fixture.server('s1')).store.touch(lock, []);
    expect(await isIndexed(lock)).toBe(false);
    is('granted', await (await fixture.request('s1', lock)).try());
    expect((await listed(lock)).items).toHaveLength(1);
  });

  it('keeps the head and its expiry when a name leaves', async () => {
    const { lock, holder } = await heldLock();
    is('released', await holder.release(holder.secret));
    await fixture.setNumbers(lock, { till: 1 });
    const [before, expiry] = [await fixture.stored(lock), await expiryOf(lock)];
    await listed(lock);
    const after = await fixture.stored(lock);
    // The test's own write has stored the second part of the head.
    expect(before.numbers).toMatchObject({ flags: '3', isListed: '1' });
    const numbers = { ...before.numbers, flags: '1', isListed: '0' };
    expect(after).toEqual({ ...before, isIndexed: false, numbers });
    expect(await expiryOf(lock)).toBe(expiry);
  });

  async function expiryOf(resource: Resource): Promise<unknown> {
    return fixture.redis.command('PEXPIRETIME', fixture.key(resource, 'state'));
  }

  it('loses names without a state by a list, and keeps a name that is used again in between', async () => {
    const [gone, used] = [(await heldLock()).lock, (await heldLock()).lock];
    await fixture.redis.command('DEL', fixture.key(gone, 'state'));
    await listed(gone);
    expect(await isIndexed(gone)).toBe(false);
    await fixture.redis.command('DEL', fixture.key(used, 'state'));
    is('granted', await (await fixture.request('s1', used)).try());
    await listed(used);
    expect(await isIndexed(used)).toBe(true);
  });

  it.each([
    ['lock', 1000],
    ['semaphore', 1000],
  ] as const)(
    'of a %s stays bounded after %i names that were forgotten',
    async (service, count) => {
      const names = namesOfOneBucket(count, newPrefix(service));
      const [first] = names as [string];
      const key = indexKey({ service, name: first });
      const options = service === 'semaphore' ? { initialLimit: 1 } : {};
      const server = await fixture.server('s1');
      for (let from = 0; from < names.length; from += 20) {
        const resources = names.slice(from, from + 20).map((name) => ({ service, name }));
        const requests = resources.map((resource) => new Requester(server, resource, options).try());
        for (const reply of await Promise.all(requests)) is('granted', reply);
        // The last 20 names have states. Redis has forgotten the names before.
        const states = names
          .slice(Math.max(0, from - 20), from)
          .map((name) => fixture.key({ service, name }, 'state'));
        if (states.length > 0) await fixture.redis.command('DEL', ...states);
      }
      expect(Number(await fixture.redis.command('ZCARD', key))).toBeLessThan(300);
      for (const name of names.slice(-20)) expect(await isIndexed({ service, name })).toBe(true);
    },
    60_000,
  );

  it('keeps semaphores with a limit when other names come, although they have no state', async () => {
    const namePrefix = newPrefix('limited/');
    const names = namesOfOneBucket(30, namePrefix);
    const kept = names.slice(0, 10).map((name) => ({ service: 'semaphore', name }) as const);
    for (const semaphore of kept) {
      is('set', await fixture.setLimit(semaphore, 1));
      await fixture.redis.command('DEL', fixture.key(semaphore, 'state'));
    }
    for (const name of names.slice(10)) {
      is('set', await fixture.setLimit({ service: 'semaphore', name }, 1));
    }
    for (const semaphore of kept) expect(await isIndexed(semaphore)).toBe(true);
    const [first] = kept as [Resource];
    const { items } = await listed(first, { namePrefix });
    expect(items.map(({ name }) => name)).toEqual(names);
  });

  it.each(['lock', 'semaphore'] as const)('of a bucket is a key that no %s can have', (service: Service) => {
    const names = ['names', ':names', 'state:names', 'x}:l2:names'];
    const parts = [
      'state',
      'ends',
      'offers',
      'queue',
      'detached',
      'live',
      'past1',
      'past2',
      'limit',
    ] as const;
    for (const name of names) {
      const resource = { service, name };
      expect(parts.map((part) => fixture.key(resource, part))).not.toContain(indexKey(resource));
    }
  });

  it('loses names by lease-unlist only if they are not in use', async () => {
    const { lock } = await heldLock();
    expect(await unlist(lock)).toEqual(['0']);
    expect([await isIndexed(lock), await isListed(lock)]).toEqual([true, true]);
    await fixture.redis.command('DEL', fixture.key(lock, 'state'));
    expect(await unlist(lock)).toEqual(['1']);
    expect(await unlist(lock)).toEqual(['0']);
    expect(await isIndexed(lock)).toBe(false);
  });

  it('stays as it is while the bucket has leases of another layout', async () => {
    const { lock } = await heldLock();
    await fixture.redis.command('DEL', fixture.key(lock, 'state'));
    const epoch = String(await fixture.redis.command('GET', fixture.epochKey(lock)));
    try {
      await fixture.redis.command('SET', fixture.epochKey(lock), epoch.replace('L2:', 'L3:'));
      expect(await unlist(lock)).toEqual([]);
      for (const list of [listed, counted])
        expect(await failureOf(list(lock))).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
      expect(await isIndexed(lock)).toBe(true);
      await fixture.redis.command('SET', fixture.epochKey(lock), 'edited manually');
      expect(await unlist(lock)).toEqual(['1']);
    } finally {
      await fixture.redis.command('SET', fixture.epochKey(lock), epoch);
    }
  });

  /** Runs lease-unlist with the name. */
  async function unlist({ service, name }: Resource): Promise<unknown> {
    const keys = namesKeys(PREFIX, service, bucketOf(name));
    const text = withFrozenClock(leaseUnlist);
    const args = ['s1', 3_600_000, '', 0, LEASE_LAYOUT, JSON.stringify([name])];
    return fixture.redis.command('EVAL', text, keys.length, ...keys, ...args);
  }
});

describe('lease-inspect', () => {
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
