import { leaseUnlist } from '../../generated/redis/scripts';
import type { Resource, Service } from '../../src/leases/lease';
import { bucketOf, LEASE_LAYOUT } from '../../src/redis/buckets';
import { namesKeys } from '../../src/leases/redis/lease-keys';
import { listReads, namesOfOneBucket, newPrefix } from '../support/leases/lease-views';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { Requester } from '../support/leases/lease-requester';
import { PREFIX, withFrozenClock } from '../support/leases/lease-server';
import { failureOf, is } from '../support/reply-kinds';

const MINUTE = 60_000;

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

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
    ['lock', 2000],
    ['semaphore', 2000],
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
    return fixture.redis.command('EVAL', text, keys.length, ...keys, LEASE_LAYOUT, name);
  }
});
