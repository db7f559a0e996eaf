import type { Resource, ResourceView, Service } from '../../src/engine/leases/lease';
import type { ListedPart, ListStep, WaiterCount } from '../../src/engine/leases/permits-store';
import { bucketOf, namesKeys } from '../../src/redis/keys';
import { PermitsFixture } from '../support/permits-fixture';
import { Requester } from '../support/permits-requester';
import { PREFIX } from '../support/permits-server';
import { is } from '../support/reply-kinds';

const MINUTE = 60_000;

let fixture: PermitsFixture;
beforeAll(async () => {
  fixture = await PermitsFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

function stepOf({ service, name }: Resource, values: Partial<ListStep> = {}): ListStep {
  return {
    service,
    bucket: bucketOf(name),
    after: '',
    namePrefix: name,
    holderId: '',
    mostShown: 64,
    ...values,
  };
}

/** The views that a list shows of names that begin with the name of this resource. */
async function listed(resource: Resource, values?: Partial<ListStep>): Promise<ListedPart<ResourceView>> {
  return (await fixture.server('s1')).store.listViews(stepOf(resource, values));
}

async function counted(resource: Resource, values?: Partial<ListStep>): Promise<ListedPart<WaiterCount>> {
  return (await fixture.server('s1')).store.listWaiterCounts(stepOf(resource, values));
}

let prefixes = 0;

/** A prefix that no other name has, because the mutation run repeats tests on one Redis. */
function newPrefix(text: string): string {
  prefixes += 1;
  return `${prefixes} ${text}`;
}

/** Names of one bucket, in the order of their bytes. */
function namesOfOneBucket(count: number, prefix: string): string[] {
  const bucket = bucketOf(`${prefix}0`);
  const names: string[] = [];
  for (let i = 0; names.length < count; i += 1) if (bucketOf(prefix + i) === bucket) names.push(prefix + i);
  return names.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

async function heldLock(name?: string, holderId = ''): Promise<{ lock: Resource; holder: Requester }> {
  const lock = name === undefined ? fixture.resource() : { service: 'lock' as const, name };
  const holder = await fixture.request('s1', lock, { holderId, ttlMs: 20_000 });
  is('granted', await holder.try());
  return { lock, holder };
}

const isIndexed = async (resource: Resource) => (await fixture.stored(resource)).isIndexed;
const isListed = async (resource: Resource) => (await fixture.stored(resource)).numbers.isListed === '1';

function indexKey({ service, name }: Resource): string {
  return namesKeys(PREFIX, service, bucketOf(name))[0];
}

describe('permits-list', () => {
  it('shows a lock with a holder as an inspection does', async () => {
    const { lock } = await heldLock();
    const view = await (await fixture.server('s1')).store.inspect(lock);
    expect(view.holderCount).toBe(1);
    expect(await listed(lock)).toEqual({ items: [view], last: '', lookedAtCount: 1 });
    expect((await counted(lock)).items).toEqual([{ name: lock.name, waiterCount: 0 }]);
  });

  it.each(['s1', 's2'])('shows a lock that has only waiters, or an offer to %s', async (by) => {
    const { lock, holder } = await heldLock();
    const waiters = await fixture.requests(2, by, lock);
    for (const waiter of waiters) is('waiting', await waiter.queue());
    expect((await counted(lock)).items).toEqual([{ name: lock.name, waiterCount: 2 }]);
    is('released', await holder.release(holder.secret));
    expect((await listed(lock)).items).toMatchObject([{ holderCount: 1, waiterCount: 1 }]);
  });

  it('shows a lock with an offer and nothing else', async () => {
    const { lock, holder } = await heldLock();
    is('waiting', await (await fixture.request('s2', lock)).queue());
    is('released', await holder.release(holder.secret));
    expect(await fixture.idsIn(lock, 'offers')).toHaveLength(1);
    expect((await listed(lock)).items).toMatchObject([{ holderCount: 1, waiterCount: 0 }]);
    expect((await counted(lock)).items).toHaveLength(1);
    await fixture.pass(lock, 3001);
    expect((await listed(lock)).items).toEqual([]);
    expect((await counted(lock)).items).toEqual([]);
  });

  it('leaves out released locks, and locks with expired leases only', async () => {
    const [released, expired] = [await heldLock(), await heldLock()];
    is('released', await released.holder.release(released.holder.secret));
    expect(await listed(released.lock)).toEqual({ items: [], last: '', lookedAtCount: 1 });
    await fixture.pass(expired.lock, 19_999);
    expect((await listed(expired.lock)).items).toHaveLength(1);
    await fixture.pass(expired.lock, 1);
    expect((await listed(expired.lock)).items).toEqual([]);
    expect((await counted(expired.lock)).items).toEqual([]);
  });

  it('shows a lock with many holders until the last lease has expired', async () => {
    const lock = fixture.resource();
    for (let i = 0; i < 20; i += 1) {
      const one = await fixture.request('s1', lock, { mode: 'shared', ttlMs: i === 3 ? 9000 : 5000 });
      is('granted', await one.try());
    }
    expect((await fixture.stored(lock)).numbers.isSpilled).toBe('1');
    await fixture.pass(lock, 8999);
    expect((await listed(lock)).items).toMatchObject([{ holderCount: 1, usedCount: 1 }]);
    await fixture.pass(lock, 1);
    expect((await listed(lock)).items).toEqual([]);
  });

  it('leaves out a lock with a kept place only, and the lock stays in the index', async () => {
    const { lock, holder } = await heldLock();
    const waiter = await fixture.request('s1', lock);
    is('waiting', await waiter.queue());
    is('withdrawn', await waiter.withdraw());
    is('released', await holder.release(holder.secret));
    await fixture.setNumbers(lock, { till: 1 });
    expect((await listed(lock)).items).toEqual([]);
    expect(await isIndexed(lock)).toBe(true);
  });

  it('shows semaphores in use and idle ones, with their limits, also without a state', async () => {
    const [idle, used] = [fixture.resource('semaphore'), fixture.resource('semaphore')];
    is('set', await fixture.setLimit(idle, 3));
    is('granted', await (await fixture.request('s1', used, { initialLimit: 5, permits: 2 })).try());
    expect((await listed(idle)).items).toMatchObject([{ limit: 3, usedCount: 0 }]);
    expect((await listed(used)).items).toMatchObject([{ limit: 5, usedCount: 2 }]);
    await fixture.redis.command('DEL', fixture.key(idle, 'state'));
    expect((await listed(idle)).items).toMatchObject([{ limit: 3 }]);
    expect((await counted(idle)).items).toEqual([{ name: idle.name, waiterCount: 0 }]);
    // Without a state, the semaphore was forgotten.
    await fixture.redis.command('DEL', fixture.key(used, 'state'));
    expect((await listed(used)).items).toEqual([]);
    expect(await isIndexed(used)).toBe(false);
  });

  it('counts the permits of a semaphore with many expired leases as an inspection does', async () => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 200));
    for (let i = 0; i < 100; i += 1) {
      is('granted', await (await fixture.request('s1', semaphore, { ttlMs: 1000 })).try());
    }
    is('granted', await (await fixture.request('s1', semaphore, { permits: 7 })).try());
    await fixture.passInUse(semaphore, 1001);
    expect((await listed(semaphore)).items).toMatchObject([{ usedCount: 7, holderCount: 1 }]);
  });

  it('does not show a deleted semaphore, and shows it again when it was created anew', async () => {
    const { semaphore } = await fixture.fullSemaphore(2);
    is('removed', await fixture.remove(semaphore, { force: true }));
    expect(await isIndexed(semaphore)).toBe(false);
    expect((await listed(semaphore)).items).toEqual([]);
    is('set', await fixture.setLimit(semaphore, 4));
    expect((await listed(semaphore)).items).toMatchObject([{ limit: 4, usedCount: 0 }]);
  });

  it('does not put a refused request into the index', async () => {
    const [unknown, never] = [fixture.resource('semaphore'), fixture.resource('semaphore')];
    is('unknown-resource', await (await fixture.request('s1', unknown)).try());
    is('never-fits', await (await fixture.request('s1', never, { initialLimit: 1, permits: 2 })).try());
    for (const one of [unknown, never]) expect(await isIndexed(one)).toBe(false);
  });

  it('answers names in the order of their bytes, and goes on after a name', async () => {
    const namePrefix = newPrefix('ordered/ü{}:*%[(é€😀');
    const names = namesOfOneBucket(9, namePrefix);
    for (const name of names) await heldLock(name);
    const all = { service: 'lock', name: names[0] } as Resource;
    const first = await listed(all, { namePrefix, mostShown: 4 });
    expect(first.items.map(({ name }) => name)).toEqual(names.slice(0, 4));
    expect(first).toMatchObject({ last: names[3], lookedAtCount: 4 });
    const rest = await listed(all, { namePrefix, after: first.last });
    expect(rest.items.map(({ name }) => name)).toEqual(names.slice(4));
    expect(rest.last).toBe('');
    const prefixed = names.filter((name) => name.startsWith(`${namePrefix}1`));
    const some = await listed(all, { namePrefix: `${namePrefix}1` });
    expect(some.items.map(({ name }) => name)).toEqual(prefixed);
    expect((await listed(all, { namePrefix: `${namePrefix}~` })).items).toEqual([]);
  });

  it('looks at 64 names at a time, and says where to go on', async () => {
    const namePrefix = newPrefix('many/');
    const names = namesOfOneBucket(130, namePrefix);
    await Promise.all(names.map((name) => heldLock(name)));
    const all = { service: 'lock', name: names[0] } as Resource;
    for (const list of [listed, counted]) {
      const found: string[] = [];
      const counts: number[] = [];
      let after = '';
      do {
        const part = await list(all, { namePrefix, after, mostShown: 500 });
        found.push(...part.items.map(({ name }) => name));
        counts.push(part.lookedAtCount);
        after = part.last;
      } while (after !== '');
      expect(found).toEqual(names);
      expect(counts).toEqual([64, 64, 2]);
    }
  });

  it('stops early if the resources have many holders or much metadata', async () => {
    const [crowdedPrefix, heavyPrefix] = [newPrefix('crowded/'), newPrefix('heavy/')];
    const [crowded, heavy] = [namesOfOneBucket(8, crowdedPrefix), namesOfOneBucket(40, heavyPrefix)];
    for (const name of crowded) {
      const lock = { service: 'lock', name } as const;
      for (let i = 0; i < 16; i += 1)
        is('granted', await (await fixture.request('s1', lock, { mode: 'shared' })).try());
      for (let i = 0; i < 16; i += 1) is('waiting', await (await fixture.request('s1', lock)).queue());
    }
    const metadata = { text: 'x'.repeat(4000) };
    for (const name of heavy) {
      is('granted', await (await fixture.request('s1', { service: 'lock', name }, { metadata })).try());
    }
    const of = (name: string) => ({ service: 'lock', name }) as const;
    // 32 records for each name, and a bound of 128.
    expect(await listed(of(crowded[0]!), { namePrefix: crowdedPrefix })).toMatchObject({ lookedAtCount: 4 });
    expect(await counted(of(crowded[0]!), { namePrefix: crowdedPrefix })).toMatchObject({ lookedAtCount: 8 });
    // 1 + 4000 / 512 for each name.
    const part = await listed(of(heavy[0]!), { namePrefix: heavyPrefix });
    expect(part).toMatchObject({ lookedAtCount: 15, last: heavy[14] });
    expect(part.items).toHaveLength(15);
  });

  it.each(['holder', 'waiter'])('shows only names with a %s of the label', async (role) => {
    const { lock, holder } = await heldLock(undefined, role === 'holder' ? 'wanted' : 'other');
    const waiter = await fixture.request('s1', lock, { holderId: role === 'waiter' ? 'wanted' : 'other' });
    is('waiting', await waiter.queue());
    expect((await listed(lock, { holderId: 'wanted' })).items).toMatchObject([{ name: lock.name }]);
    expect((await counted(lock, { holderId: 'wanted' })).items).toEqual([
      { name: lock.name, waiterCount: 1 },
    ]);
    expect(await listed(lock, { holderId: 'want' })).toEqual({ items: [], last: '', lookedAtCount: 1 });
    expect((await counted(lock, { holderId: 'nobody' })).items).toEqual([]);
    is('released', await holder.release(holder.secret));
  });

  it('changes no resource', async () => {
    const { lock } = await heldLock();
    is('waiting', await (await fixture.request('s2', lock)).queue());
    await fixture.pass(lock, 20_001);
    const before = await fixture.stored(lock);
    await listed(lock);
    await counted(lock);
    expect(await fixture.stored(lock)).toEqual(before);
  });
});

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
    // The next use puts the name back.
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
    ['lock', 10_000],
    ['semaphore', 2000],
  ] as const)(
    'of a %s stays bounded after %i names that were forgotten',
    async (service, count) => {
      const names = namesOfOneBucket(count, newPrefix(service));
      const [first] = names as [string];
      const key = indexKey({ service, name: first });
      const options = service === 'semaphore' ? { initialLimit: 1 } : {};
      const server = await fixture.server('s1');
      for (let from = 0; from < names.length; from += 100) {
        const resources = names.slice(from, from + 100).map((name) => ({ service, name }));
        const requests = resources.map((resource) => new Requester(server, resource, options).try());
        for (const reply of await Promise.all(requests)) is('granted', reply);
        // The last 20 names have states. Redis has forgotten the names before.
        const states = names
          .slice(Math.max(0, from - 20), from + 80)
          .map((name) => fixture.key({ service, name }, 'state'));
        await fixture.redis.command('DEL', ...states);
      }
      expect(Number(await fixture.redis.command('ZCARD', key))).toBeLessThan(600);
      for (const name of names.slice(-20)) expect(await isIndexed({ service, name })).toBe(true);
    },
    120_000,
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
});
