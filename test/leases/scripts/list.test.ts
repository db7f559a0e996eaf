import type { Resource } from '../../../src/leases/lease';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { listReads, namesOfOneBucket, newPrefix } from '../../support/leases/lease-views';
import { scriptCalls } from '../../support/redis-operations';
import { is } from '../../support/reply-kinds';

let fixture: LeaseFixture;

const { listed, counted, heldLock, isIndexed } = listReads(() => fixture);

describe('lease-list', () => {
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  it('shows a lock with a holder as an inspection does', async () => {
    const { lock } = await heldLock();
    const view = await (await fixture.server('s1')).store.inspect(lock);
    expect(view.holderCount).toBe(1);
    expect(await listed(lock)).toEqual({ items: [view], last: '', examinedCount: 1 });
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
    expect(await listed(released.lock)).toEqual({ items: [], last: '', examinedCount: 1 });
    await fixture.pass(expired.lock, 19_999);
    expect((await listed(expired.lock)).items).toHaveLength(1);
    await fixture.pass(expired.lock, 1);
    expect((await listed(expired.lock)).items).toEqual([]);
    expect((await counted(expired.lock)).items).toEqual([]);
  });

  it('shows a lock with an expired lease and a waiter', async () => {
    const { lock } = await heldLock();
    is('waiting', await (await fixture.request('s2', lock)).queue());
    await fixture.pass(lock, 20_001);
    expect((await listed(lock)).items).toMatchObject([{ holderCount: 0, waiterCount: 1 }]);
    expect((await counted(lock)).items).toEqual([{ name: lock.name, waiterCount: 1 }]);
  });

  it('shows a lock although a lease and a waiter have no record', async () => {
    const { lock } = await heldLock();
    is('waiting', await (await fixture.request('s1', lock)).queue());
    await fixture.addGhost(lock, 'ends', Number(await fixture.now()) + 1);
    await fixture.addGhost(lock, 'queue', 1);
    expect((await listed(lock)).items).toMatchObject([{ holders: [{}], waiters: [{ position: 2 }] }]);
  });

  it.each([undefined, 'edited manually'])('shows names while their epoch is %p', async (epoch) => {
    const { lock } = await heldLock();
    const key = fixture.epochKey(lock);
    const before = String(await fixture.redis.command('GET', key));
    await (epoch === undefined
      ? fixture.redis.command('DEL', key)
      : fixture.redis.command('SET', key, epoch));
    expect((await listed(lock)).items).toHaveLength(1);
    await fixture.redis.command('SET', key, before);
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

  it('needs one script for all names, and three more for a name with many expired leases', async () => {
    const namePrefix = newPrefix('scripts/');
    const semaphores = namesOfOneBucket(3, namePrefix).map(
      (name) => ({ service: 'semaphore', name }) as const,
    );
    for (const semaphore of semaphores) is('set', await fixture.setLimit(semaphore, 200));
    const [first, , last] = semaphores as [Resource, Resource, Resource];
    const scripts = async () => {
      await fixture.redis.command('CONFIG', 'RESETSTAT');
      expect((await listed(first, { namePrefix })).items).toHaveLength(3);
      return scriptCalls(String(await fixture.redis.command('INFO', 'commandstats')));
    };
    await scripts(); // Redis may not know the scripts yet.
    expect(await scripts()).toBe(1);
    for (let i = 0; i < 70; i += 1) {
      is('granted', await (await fixture.request('s1', last, { ttlMs: 1000 })).try());
    }
    await fixture.passInUse(last, 1001);
    expect(await scripts()).toBe(4);
  });

  it('shows each lock of a bucket as an inspection does, and none that is free', async () => {
    const namePrefix = newPrefix('mixed/');
    const all = namesOfOneBucket(7, namePrefix).map((name) => ({ service: 'lock', name }) as const);
    const [free, locks] = [all[6] as Resource, all.slice(0, 6)];
    // Holders and waiters of each lock, so that each lock has less of something than the lock before.
    const counts = [
      [20, 2],
      [3, 3],
      [1, 1],
      [18, 0],
      [2, 0],
      [1, 2],
    ];
    for (const [i, lock] of locks.entries()) {
      const [holders = 0, waiters = 0] = counts[i] ?? [];
      for (let n = 0; n < holders; n += 1) {
        const options = { mode: 'shared', holderId: `holder ${i}/${n}` } as const;
        is('granted', await (await fixture.request('s1', lock, options)).try());
      }
      for (let n = 0; n < waiters; n += 1) {
        is('waiting', await (await fixture.request('s1', lock, { holderId: `waiter ${i}/${n}` })).queue());
      }
    }
    const last = await fixture.request('s1', free);
    is('granted', await last.try());
    is('released', await last.release(last.secret));
    const { store } = await fixture.server('s1');
    const views = await Promise.all(locks.map((lock) => store.inspect(lock)));
    const { items } = await listed(locks[0] as Resource, { namePrefix });
    expect(items).toEqual(views);
    const numbers = await counted(locks[0] as Resource, { namePrefix });
    expect(numbers.items).toEqual(views.map(({ name, waiterCount }) => ({ name, waiterCount })));
  });

  it('shows each semaphore of a bucket as an inspection does, and none that was forgotten', async () => {
    const namePrefix = newPrefix('mixed/');
    const semaphores = namesOfOneBucket(5, namePrefix).map(
      (name) => ({ service: 'semaphore', name }) as const,
    );
    for (const [i, semaphore] of semaphores.entries()) is('set', await fixture.setLimit(semaphore, i + 1));
    const [first, forgotten, , idle] = semaphores as [Resource, Resource, Resource, Resource];
    is('granted', await (await fixture.request('s1', first)).try());
    await fixture.redis.command('DEL', fixture.key(forgotten, 'state'), fixture.limitKey(forgotten));
    await fixture.redis.command('DEL', fixture.key(idle, 'state'));
    const { store } = await fixture.server('s1');
    const left = semaphores.filter((semaphore) => semaphore !== forgotten);
    const views = await Promise.all(left.map((semaphore) => store.inspect(semaphore)));
    expect((await listed(first, { namePrefix })).items).toEqual(views);
    expect(await isIndexed(forgotten)).toBe(false);
  });

  it('does not show a deleted semaphore, and shows it again when it was created anew', async () => {
    const { semaphore, holder } = await fixture.fullSemaphore(2);
    is('removed', await fixture.remove(semaphore, { force: true }));
    expect(await isIndexed(semaphore)).toBe(false);
    is('finished', await holder.renew(holder.secret));
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
    expect(first).toMatchObject({ last: names[3], examinedCount: 4 });
    const rest = await listed(all, { namePrefix, after: first.last });
    expect(rest.items.map(({ name }) => name)).toEqual(names.slice(4));
    expect(rest.last).toBe('');
    const prefixed = names.filter((name) => name.startsWith(`${namePrefix}1`));
    const some = await listed(all, { namePrefix: `${namePrefix}1` });
    expect(some.items.map(({ name }) => name)).toEqual(prefixed);
    expect((await listed(all, { namePrefix: `${namePrefix}~` })).items).toEqual([]);
  });

  it('looks at 32 views or 64 numbers of waiters at a time, and says where to go on', async () => {
    const namePrefix = newPrefix('many/');
    const names = namesOfOneBucket(130, namePrefix);
    await Promise.all(names.map((name) => heldLock(name)));
    const all = { service: 'lock', name: names[0] } as Resource;
    for (const [list, expected] of [
      [listed, [32, 32, 32, 32, 2]],
      [counted, [64, 64, 2]],
    ] as const) {
      const found: string[] = [];
      const counts: number[] = [];
      let after = '';
      do {
        const part = await list(all, { namePrefix, after, mostShown: 500 });
        found.push(...part.items.map(({ name }) => name));
        counts.push(part.examinedCount);
        after = part.last;
      } while (after !== '');
      expect(found).toEqual(names);
      expect(counts).toEqual(expected);
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
    // 32 records for each name, and a bound of 64.
    expect(await listed(of(crowded[0]!), { namePrefix: crowdedPrefix })).toMatchObject({ examinedCount: 2 });
    expect(await counted(of(crowded[0]!), { namePrefix: crowdedPrefix })).toMatchObject({ examinedCount: 8 });
    // 1 + 4000 / 512 for each name.
    const part = await listed(of(heavy[0]!), { namePrefix: heavyPrefix });
    expect(part).toMatchObject({ examinedCount: 8, last: heavy[7] });
    expect(part.items).toHaveLength(8);
  });

  it.each(['holder', 'waiter'])('shows only names with a %s of the label', async (role) => {
    const { lock, holder } = await heldLock(undefined, role === 'holder' ? 'wanted' : 'other');
    const waiter = await fixture.request('s1', lock, { holderId: role === 'waiter' ? 'wanted' : 'other' });
    is('waiting', await waiter.queue());
    expect((await listed(lock, { holderId: 'wanted' })).items).toMatchObject([{ name: lock.name }]);
    expect((await counted(lock, { holderId: 'wanted' })).items).toEqual([
      { name: lock.name, waiterCount: 1 },
    ]);
    expect(await listed(lock, { holderId: 'want' })).toEqual({ items: [], last: '', examinedCount: 1 });
    expect((await counted(lock, { holderId: 'nobody' })).items).toEqual([]);
    is('released', await holder.release(holder.secret));
  });

  it.each(['holder', 'waiter'])('shows only names with a %s of the identity and the label', async (role) => {
    const lock = fixture.resource();
    const wanted = { holderId: 'a', identity: 'token:wanted', ttlMs: 20_000 };
    const other = { holderId: 'b', identity: 'token:other', ttlMs: 20_000 };
    is('granted', await (await fixture.request('s1', lock, role === 'holder' ? wanted : other)).try());
    is('waiting', await (await fixture.request('s1', lock, role === 'holder' ? other : wanted)).queue());
    const found = { examinedCount: 1, items: [{ name: lock.name }] };
    expect(await listed(lock, { identity: 'token:wanted' })).toMatchObject(found);
    expect(await counted(lock, { identity: 'token:wanted' })).toMatchObject(found);
    expect(await listed(lock, { identity: 'token:wanted', holderId: 'a' })).toMatchObject(found);
    // The label of the one, and the identity of the other.
    expect((await listed(lock, { identity: 'token:wanted', holderId: 'b' })).items).toEqual([]);
    expect((await listed(lock, { identity: 'token:want' })).items).toEqual([]);
    expect((await counted(lock, { identity: 'a' })).items).toEqual([]);
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
