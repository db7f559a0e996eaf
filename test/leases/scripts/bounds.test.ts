import type { Resource } from '../../../src/leases/lease';
import type { RevokeTarget } from '../../../src/leases/lease-store';
import { eventually } from '../../support/eventually';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { OFFERED_TTL_MS, type Requester } from '../../support/leases/lease-requester';
import { type Part, PARTS } from '../../support/leases/lease-stored';
import { listStep } from '../../support/leases/lease-views';
import { failureOf, is } from '../../support/reply-kinds';
import { grantsWaitingReaders } from '../../support/waiting-readers';

const BATCH = 64;

/** A script handles at most one batch, so that Redis is never blocked for long. `more` asks for the next batch. */
describe('a script', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    // Thousands of commands are in flight at the same time.
    fixture = await LeaseFixture.open({ commandTimeoutMs: 20_000, frozenClock: true });
  });
  afterAll(() => fixture.close());

  /** Makes requests of server s1 for one permit each of a semaphore with a limit of 300, one after the other. */
  async function requests(count: number, act: (one: Requester) => Promise<unknown>, ttlMs = 5000) {
    const semaphore = fixture.resource('semaphore');
    const all: Requester[] = [];
    for (let i = 0; i < count; i += 1)
      all.push(await fixture.request('s1', semaphore, { initialLimit: 300, ttlMs }));
    for (const one of all) await act(one);
    return { semaphore, all };
  }

  it('purges 64 expired leases at a time, and answers `more` until no expired lease is left', async () => {
    const { semaphore } = await requests(150, (one) => one.try());
    await fixture.passInUse(semaphore, 5001);
    const left = await fixture.finishBatches(
      semaphore,
      async () => (await fixture.idsIn(semaphore, 'ends')).length,
    );
    expect(left).toEqual([150 - BATCH, 150 - 2 * BATCH, 0]);
    expect((await fixture.stored(semaphore)).numbers.used).toBe('0');
  });

  it('makes 64 offers at a time in the order of the queue, and a new request overtakes no waiter', async () => {
    const semaphore = fixture.resource('semaphore');
    const holder = await fixture.request('s1', semaphore, { initialLimit: 300, permits: 300 });
    is('granted', await holder.try());
    const waiters: Requester[] = [];
    for (let i = 0; i < 150; i += 1) {
      const waiter = await fixture.request('s1', semaphore, { ttlMs: OFFERED_TTL_MS });
      is('waiting', await waiter.queue());
      waiters.push(waiter);
    }
    const server = await fixture.server('s1');
    const before = server.mores;
    server.rechecks = [];
    await holder.release(holder.secret);
    expect(server.mores).toBe(before + 1);
    expect(server.rechecks).toEqual(waiters.slice(0, BATCH).map(({ requestId }) => requestId));
    const newcomer = await fixture.request('s1', semaphore);
    // The script of the new request makes the next batch of offers. The new request takes the last place.
    expect(is('waiting', await newcomer.queue()).position).toBe(150 - 2 * BATCH + 1);
    await server.store.touch(semaphore, []);
    const tokens: bigint[] = [];
    for (const waiter of [...waiters, newcomer])
      tokens.push(is('granted', await waiter.claim()).fencingToken);
    expect([...tokens].sort((a, b) => Number(a - b))).toEqual(tokens);
  });

  it('makes at most 64 direct grants, even if it removes a dead server afterwards and looks at the queue again', async () => {
    const semaphore = fixture.resource('semaphore');
    const holder = await fixture.request('s1', semaphore, { initialLimit: 300, permits: 300, ttlMs: 5000 });
    is('granted', await holder.try());
    for (const waiter of await fixture.requests(120, 's1', semaphore)) is('waiting', await waiter.queue());
    await fixture.beat(semaphore, 'dead');
    await fixture.passInUse(semaphore, 10_001);
    const server = await fixture.server('s1');
    server.grants = [];
    await server.store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'live')).not.toContain('dead');
    expect(server.grants).toHaveLength(BATCH);
    await server.store.touch(semaphore, []);
    expect(server.grants).toHaveLength(120);
  });

  it('lets a request that does not wait have the permits after it has detached 64 waiters of a dead server', async () => {
    const lock = fixture.resource();
    const holder = await fixture.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await holder.try());
    for (const waiter of await fixture.requests(BATCH, 's2', lock)) is('waiting', await waiter.queue());
    await fixture.passInUse(lock, 20_001);
    is('granted', await (await fixture.request('s1', lock)).try());
  });

  it('makes at most 256 offers of a name at a time, so that servers can claim all of them in time', async () => {
    const semaphore = fixture.resource('semaphore');
    const holder = await fixture.request('s1', semaphore, { initialLimit: 300, permits: 300 });
    is('granted', await holder.try());
    const waiters = await fixture.requests(300, 's1', semaphore, { ttlMs: OFFERED_TTL_MS });
    for (const waiter of waiters) is('waiting', await waiter.queue());
    await holder.release(holder.secret);
    const offerCount = async () => (await fixture.idsIn(semaphore, 'offers')).length;
    expect((await fixture.finishBatches(semaphore, offerCount)).at(-1)).toBe(256);
    is('granted', await (waiters[0] as Requester).claim());
    expect((await fixture.finishBatches(semaphore, offerCount)).at(-1)).toBe(256);
    expect((await fixture.stored(semaphore)).numbers.used).toBe('257');
  });

  it.each([
    ['renewal', (one: Requester) => one.renew(one.secret)],
    ['release', (one: Requester) => one.release(one.secret)],
    ['acquire', (one: Requester) => one.queue()],
    ['claim', (one: Requester) => one.claim()],
    ['withdrawal', (one: Requester) => one.withdraw()],
  ])(
    'answers `finished` to a %s of an expired lease, even if 100 other leases expired before',
    async (_, act) => {
      const { semaphore, all } = await requests(100, (one) => one.try());
      const last = await fixture.request('s1', semaphore, { ttlMs: 5001 });
      await last.try();
      await fixture.passInUse(semaphore, 5002);
      expect(await act(last)).toMatchObject({ kind: 'finished', cause: 'expired' });
      expect((await fixture.stored(semaphore)).sets.ends).toHaveLength(all.length - BATCH);
    },
  );

  it('hides expired leases that are not purged yet from inspections, acquires and limit changes', async () => {
    const { semaphore } = await requests(200, (one) => one.try());
    const { store } = await fixture.server('s2');
    await fixture.passInUse(semaphore, 5001);
    expect(await store.inspect(semaphore)).toMatchObject({ usedCount: 0, holderCount: 0, holders: [] });
    const other = await requests(200, (one) => one.try());
    await fixture.passInUse(other.semaphore, 5001);
    is('granted', await (await fixture.request('s2', other.semaphore, { permits: 300 })).try());
    const third = await requests(200, (one) => one.try());
    await fixture.passInUse(third.semaphore, 5001);
    const { view } = is('set', await store.setLimit(third.semaphore, { limit: 9, expectedLimit: 300 }));
    expect(view).toMatchObject({ usedCount: 0, holderCount: 0 });
  });

  it('grants a lock to 1,000 waiting readers in batches of 64', () => grantsWaitingReaders(fixture, 1_000));
});

const RETENTION_MS = 600;

/** Epochs, the limits that SetSemaphoreLimit has set, and the indexes of the names of semaphores. */
const LASTING = /^test:\{\d+\}:(epoch$|s:limit:|s\d+:names$)/;

/** Keys of idle names expire. The expiry of a key never decides about a lease. */
describe('the expiry of keys', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ retentionMs: RETENTION_MS });
  });
  afterAll(() => fixture.close());

  /** The expiry time of each existing key (ms); -1: none. */
  async function goneAt(resource: Resource, parts: readonly Part[] = PARTS): Promise<number[]> {
    const times = await Promise.all(
      parts.map((part) => fixture.redis.command('PEXPIRETIME', fixture.key(resource, part))),
    );
    return times.map(Number).filter((time) => time !== -2);
  }

  async function nowMs(): Promise<number> {
    const [seconds, us] = (await fixture.redis.command('TIME')) as [string, string];
    return Number(seconds) * 1000 + Number(us) / 1000;
  }

  it('is the retention time after the end of the last lease and a tenth of that time, for all keys of the name', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 90_000 });
    is('granted', await alice.try());
    await (await fixture.request('s1', lock)).queue();
    const [end] = (await fixture.stored(lock)).sets.ends;
    const expected = Math.floor(Number(end?.score) / 1000) + RETENTION_MS * 1.1;
    expect(await goneAt(lock)).toEqual([expected, expected, expected]);
  });

  it('moves later with each renewal, and never earlier', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 90_000 });
    await alice.try();
    const [first] = (await goneAt(lock)) as [number];
    is('granted', await alice.renew(alice.secret, 200_000));
    const [second] = (await goneAt(lock)) as [number];
    expect(second).toBeGreaterThan(first + 100_000);
    is('released', await alice.release(alice.secret));
    for (const time of await goneAt(lock)) expect(time).toBe(second);
  });

  it('moves later with a renewal also for offers, waiters and kept places', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const local = () => fixture.request('s1', semaphore, { ttlMs: 90_000 });
    const remote = () => fixture.request('s2', semaphore, { ttlMs: OFFERED_TTL_MS });
    const [alice, bob] = [await local(), await local()];
    const [carol, dave, erin] = [await remote(), await remote(), await remote()];
    for (const holder of [alice, bob]) is('granted', await holder.try());
    for (const waiter of [carol, dave, erin]) is('waiting', await waiter.queue());
    await dave.withdraw();
    is('released', await bob.release(bob.secret));
    is('granted', await alice.renew(alice.secret, 200_000));
    const { sets } = await fixture.stored(semaphore);
    expect([sets.offers.length, sets.queue.length, sets.detached.length]).toEqual([1, 1, 1]);
    const times = await goneAt(semaphore);
    expect(times.length).toBe(5);
    expect(new Set(times).size).toBe(1);
  });

  it('is moved later for the servers of waiters when a request waits again', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 90_000 });
    is('granted', await alice.try());
    const bob = await fixture.request('s1', lock, { maxWaiters: 0 });
    is('waiting', await (await fixture.request('s1', lock)).queue());
    await fixture.redis.command('DEL', fixture.key(lock, 'queue'));
    is('queue-full', await bob.queue());
    is('granted', await alice.renew(alice.secret, 200_000));
    const [state, live] = await goneAt(lock, ['state', 'live']);
    expect(live).toBeLessThan(Number(state));
    is('waiting', await (await fixture.request('s1', lock)).queue());
    expect(new Set(await goneAt(lock)).size).toBe(1);
  });

  it('moves later with each touch of a waiter', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 100 });
    await alice.try();
    const bob = await fixture.request('s1', lock);
    await bob.queue();
    for (let i = 0; i < 3; i += 1) {
      const before = await nowMs();
      await bob.touch();
      // The lease and the offer may end between two touches. Their keys need no later expiry.
      for (const time of await goneAt(lock, ['state', 'queue', 'live']))
        expect(time).toBeGreaterThanOrEqual(Math.floor(before) + RETENTION_MS);
    }
  });

  it('is set for every key after any operation (chapter 17, 24)', async () => {
    const lock = fixture.resource();
    const [alice, bob, carol] = [
      await fixture.request('s1', lock),
      await fixture.request('s1', lock),
      await fixture.request('s2', lock),
    ];
    await alice.try();
    await bob.queue();
    await carol.queue();
    await bob.withdraw();
    await alice.release(alice.secret);
    await carol.claim();
    await carol.giveBack();
    expect(await goneAt(lock)).not.toContain(-1);
    for (const key of (await fixture.redis.command('KEYS', '*')) as string[]) {
      if (LASTING.test(key)) continue;
      expect(await fixture.redis.command('PTTL', key)).not.toBe('-1');
    }
  });

  it('removes all keys, and later fencing tokens are still greater', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 100 });
    const { fencingToken } = is('granted', await alice.try());
    await eventually('the keys to be gone', async () => (await goneAt(lock)).length === 0);
    const again = is(
      'granted',
      await (await fixture.request('s1', lock, { requestId: alice.requestId })).try(),
    );
    expect(again.fencingToken).toBeGreaterThan(fencingToken);
  });

  it('removes a semaphore that a request created, but keeps a limit that SetSemaphoreLimit set', async () => {
    const [made, set] = [fixture.resource('semaphore'), fixture.resource('semaphore')];
    await fixture.setLimit(set, 2);
    for (const semaphore of [made, set])
      is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 9, ttlMs: 100 })).try());
    for (const semaphore of [made, set]) {
      await eventually('the keys to be gone', async () => (await goneAt(semaphore)).length === 0);
    }
    const ask = async (semaphore: Resource) => (await fixture.request('s1', semaphore, { permits: 3 })).try();
    expect(await ask(made)).toEqual({ kind: 'unknown-resource' });
    expect(await ask(set)).toEqual({ kind: 'never-fits', limit: 2 });
    expect(await fixture.redis.command('PTTL', fixture.limitKey(set))).toBe('-1');
    expect(await fixture.redis.command('EXISTS', fixture.limitKey(made))).toBe('0');
    const { store } = await fixture.server('s1');
    expect((await store.inspect(set)).limit).toBe(2);
    expect((await store.inspect(made)).limit).toBeUndefined();
  });
});

/** Redis has the policy `noeviction` and no free memory. Holders can renew and release. New requests are refused. */
describe('when the memory of Redis is full', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());
  afterEach(() => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0'));

  const fill = () => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');

  it('an acquire fails as not carried out, and stores nothing', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    await fill();
    expect(await failureOf(alice.try())).toMatchObject({ kind: 'full', carriedOut: 'no' });
    await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    expect((await fixture.stored(lock)).records).toEqual({});
    is('granted', await alice.try());
  });

  it('a lease is renewed and released', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 10_000 });
    is('granted', await alice.try());
    await fixture.passInUse(lock, 5000);
    await fill();
    expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(10_000);
    is('released', await alice.release(alice.secret));
    expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
  });

  it('a stream takes over, renews and releases a lease', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    is('granted', await alice.try());
    await fill();
    const stream = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
    is('granted', await stream.takeOver(alice.secret));
    is('granted', await stream.keepAlive(alice.secret));
    is('released', await stream.releaseAfterLoss(alice.secret));
  });

  it('a released lock is offered to the next waiter and claimed', async () => {
    const lock = fixture.resource();
    const [alice, bob, carol] = [
      await fixture.request('s2', lock),
      await fixture.request('s1', lock),
      await fixture.request('s1', lock),
    ];
    is('granted', await alice.try());
    await bob.queue();
    await carol.queue();
    await fill();
    expect((await bob.touch()).waiters).toEqual([1]);
    is('released', await alice.release(alice.secret));
    is('granted', await bob.claim());
    is('withdrawn', await bob.giveBack());
    is('granted', await carol.withdraw());
    expect((await (await fixture.server('s1')).store.inspect(lock)).holderCount).toBe(1);
  });

  it('an expired lease is purged, and the lock is offered to the next waiter', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 5000 });
    const bob = await fixture.request('s1', lock);
    is('granted', await alice.try());
    await bob.queue();
    await fixture.passInUse(lock, 5001);
    await fill();
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    is('granted', await bob.claim());
  });

  it('permits of a semaphore are renewed, released and granted to the next waiter', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 3);
    const alice = await fixture.request('s1', semaphore, { permits: 3, ttlMs: 10_000 });
    const bob = await fixture.request('s1', semaphore, { permits: 2 });
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    await fixture.passInUse(semaphore, 5000);
    await fill();
    expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(10_000);
    is('released', await alice.release(alice.secret));
    is('granted', await bob.claim());
  });

  it('a limit is raised, lowered and set for the first time', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 1);
    is('granted', await (await fixture.request('s1', semaphore)).try());
    const [next, offered] = [await fixture.request('s2', semaphore), await fixture.request('s2', semaphore)];
    for (const waiter of [next, offered]) is('waiting', await waiter.queue());
    await fill();
    is('set', await fixture.setLimit(semaphore, 3));
    is('granted', await next.claim());
    expect(is('set', await fixture.setLimit(semaphore, 1)).view).toMatchObject({
      usedCount: 2,
      waiterCount: 1,
    });
    is('set', await fixture.setLimit(fixture.resource('semaphore'), 5));
  });

  it('leases, an offer and a waiter are revoked', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const [alice, bob] = [await fixture.request('s1', semaphore), await fixture.request('s1', semaphore)];
    const [carol, dave] = [await fixture.request('s2', semaphore), await fixture.request('s2', semaphore)];
    for (const one of [alice, bob]) is('granted', await one.try());
    for (const one of [carol, dave]) is('waiting', await one.queue());
    await fill();
    const { store } = await fixture.server('s1');
    const revoke = async (target: RevokeTarget, force: boolean) =>
      is('revoked', await store.revoke(semaphore, { target, force, after: undefined })).count;
    await fixture.revoke(alice);
    expect(await revoke({ kind: 'token', fencingToken: bob.token ?? 0n }, true)).toBe(1); // carol gets an offer
    const enqueueTimeUs = BigInt((await fixture.stored(semaphore)).records[dave.requestId]?.queuedAt ?? 0);
    expect(await revoke({ kind: 'waiter', position: 1, enqueueTimeUs }, false)).toBe(1);
    expect(await revoke({ kind: 'all-holders' }, false)).toBe(2);
    for (const one of [carol, dave])
      expect(await one.claim()).toEqual({ kind: 'finished', cause: 'revoked' });
    expect(await alice.renew(alice.secret)).toEqual({ kind: 'finished', cause: 'revoked' });
  });

  it('a semaphore is deleted with its holders and waiters', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 1);
    const holder = await fixture.request('s1', semaphore);
    const waiter = await fixture.request('s1', semaphore);
    is('granted', await holder.try());
    is('waiting', await waiter.queue());
    await fill();
    is('removed', await fixture.remove(semaphore, { force: true }));
    expect(await waiter.claim()).toEqual({ kind: 'unknown-resource' });
    expect(await holder.renew(holder.secret)).toEqual({ kind: 'finished', cause: 'revoked' });
  });

  it('a list shows the locks in use, and takes forgotten names out of the index', async () => {
    const [held, forgotten] = [fixture.resource(), fixture.resource()];
    for (const lock of [held, forgotten]) is('granted', await (await fixture.request('s1', lock)).try());
    await fixture.redis.command('DEL', fixture.key(forgotten, 'state'));
    await fill();
    const { store } = await fixture.server('s1');
    const listed = async (lock: Resource) => (await store.listViews(listStep(lock))).items.length;
    expect([await listed(held), await listed(forgotten)]).toEqual([1, 0]);
    expect((await fixture.stored(forgotten)).isIndexed).toBe(false);
  });
});
