import fc from 'fast-check';
import { LOCK_LIMIT, type Resource } from '../../../src/leases/lease';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { Requester } from '../../support/leases/lease-requester';
import { GHOST_ID, PARTS } from '../../support/leases/lease-stored';
import { is } from '../../support/reply-kinds';
import { assertWithinTime, HISTORIES } from '../../support/timed-property';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

/** A manual edit inside a key of a resource must not grant permits twice, block the resource, or leave a key for ever. */
describe('after a manual edit inside a key of a resource', () => {
  /** Two waiters of s2 behind a holder of s1. */
  async function queueOfTwo(options = {}) {
    const lock = fixture.resource();
    const holder = await fixture.request('s1', lock);
    is('granted', await holder.try());
    const waiters = (await fixture.requests(2, 's2', lock, options)) as [Requester, Requester];
    for (const waiter of waiters) is('waiting', await waiter.queue());
    return { lock, holder, waiters };
  }

  it('never grants a shared lock beside an exclusive holder if one of two offers was removed', async () => {
    const { lock, holder, waiters } = await queueOfTwo({ mode: 'shared' });
    is('released', await holder.release(holder.secret));
    await fixture.redis.command('ZREM', fixture.key(lock, 'offers'), waiters[0].requestId);
    is('refused', await (await fixture.request('s1', lock)).try()); // counts the offers again
    is('withdrawn', await waiters[0].withdraw());
    const exclusive = await fixture.request('s1', lock);
    is('refused', await exclusive.try());
    await fixture.passInUse(lock, 3001);
    is('granted', await exclusive.try());
    is('refused', await (await fixture.request('s1', lock, { mode: 'shared' })).try());
  });

  it('grants to the second waiter if the first waiter was removed from the queue and has withdrawn', async () => {
    const { lock, holder, waiters } = await queueOfTwo();
    await fixture.redis.command('ZREM', fixture.key(lock, 'queue'), waiters[0].requestId);
    is('queue-full', await (await fixture.request('s1', lock, { maxWaiters: 1 })).queue()); // counts the queue again
    is('withdrawn', await waiters[0].withdraw());
    is('released', await holder.release(holder.secret));
    expect((await waiters[1].touch()).waiters).toEqual(['recheck']);
    is('granted', await waiters[1].claim());
  });

  it('keeps a lease whose request had an earlier lease with a removed tombstone', async () => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 5));
    const alice = await fixture.request('s1', semaphore, { ttlMs: 120_000 });
    is('granted', await alice.try());
    is('released', await alice.release(alice.secret));
    await fixture.redis.command('HDEL', fixture.key(semaphore, 'state'), `r${alice.requestId}`);
    is('granted', await alice.try());
    // So many later tombstones move the earliest ones out of the head.
    for (const other of await fixture.requests(20, 's1', semaphore)) {
      is('granted', await other.try());
      is('released', await other.release(other.secret));
    }
    await fixture.passInUse(semaphore, 60_001);
    is('granted', await alice.renew(alice.secret));
    expect((await fixture.stored(semaphore)).numbers.used).toBe('1');
  });

  it.each([
    ['with 70 characters', 'x'.repeat(70)],
    ['that is too short for its second part', `\x01${'x'.repeat(65)}`],
    ['with no byte', ''],
  ])('treats a head %s as deleted', async (_, head) => {
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock)).try());
    await fixture.redis.command('HSET', fixture.key(lock, 'state'), 'h', head);
    is('granted', await (await fixture.request('s1', lock)).try());
  });

  it('gives every key an expiry when the store has lost a waiter that is then granted at once', async () => {
    const { lock, waiters } = await queueOfTwo();
    for (const part of PARTS) await fixture.redis.command('DEL', fixture.key(lock, part));
    is('granted', await waiters[0].claim());
    is('released', await waiters[0].release(waiters[0].secret));
    for (const part of PARTS) {
      const ttl = Number(await fixture.redis.command('PTTL', fixture.key(lock, part)));
      expect([part, ttl]).not.toEqual([part, -1]);
    }
  });
});

/** A script that must leave other requests alone must not make the next script judge servers too early. */
describe('after a stall of 5 s that a late release or a renewal in a pause ends', () => {
  it('no newcomer passes a waiter of another server if the late release comes first', async () => {
    const lock = fixture.resource();
    const holder = await fixture.request('s1', lock, { ttlMs: 120_000 });
    is('granted', await holder.try());
    const waiter = await fixture.request('s2', lock);
    is('waiting', await waiter.queue());
    const server = await fixture.server('s1');
    const inTime = server.epochArguments as [string, number];
    await fixture.pass(lock, 5000);
    server.epochArguments = [inTime[0], 0];
    is('released', await holder.release(holder.secret));
    server.epochArguments = inTime;
    is('waiting', await (await fixture.request('s1', lock)).queue());
    expect(await fixture.idsIn(lock, 'offers')).toEqual([waiter.requestId]);
  });

  it('the waiters of other servers keep their places if a renewal came during the pause', async () => {
    const lock = fixture.resource();
    const holder = await fixture.request('s1', lock, { ttlMs: 120_000 });
    is('granted', await holder.try());
    const waiters = [await fixture.request('s2', lock), await fixture.request('s3', lock)];
    for (const waiter of waiters) is('waiting', await waiter.queue());
    const server = await fixture.server('s1');
    const known = server.epochArguments as [string, number];
    await fixture.pass(lock, 20_000);
    server.epochArguments = [known[0].replace(/:/, ':x').replace(/ \d+$/, ' 0'), Number.MAX_SAFE_INTEGER];
    is('granted', await holder.renew(holder.secret));
    await fixture.pass(lock, 1000);
    server.epochArguments = known;
    is('released', await holder.release(holder.secret));
    expect(await fixture.idsIn(lock, 'detached')).toEqual([]);
    expect(await fixture.idsIn(lock, 'offers')).toEqual([waiters[0]?.requestId]);
  });

  it('leaves no set that nobody counts if a waiter leaves after only the head was deleted', async () => {
    const lock = fixture.resource();
    const [holder, waiter] = [await fixture.request('s1', lock), await fixture.request('s1', lock)];
    is('granted', await holder.try());
    is('waiting', await waiter.queue());
    await fixture.redis.command('HDEL', fixture.key(lock, 'state'), 'h');
    is('withdrawn', await waiter.withdraw());
    expect(await fixture.redis.command('EXISTS', fixture.key(lock, 'detached'))).toBe('0');
  });
});

/** Scripts write no lease without an end. After a manual edit in Redis, the next script repairs such a lease. */
describe('after a manual edit of a lock in Redis (chapter 24),', () => {
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

const LIMIT = 3;
const REQUESTERS = 6;
const SETS = ['ends', 'offers', 'queue', 'detached'] as const;

/** A command of one request, or a manual edit of the data of this request. */
const requestSteps = [
  ...['try', 'queue', 'heartbeat', 'withdraw', 'giveBack', 'renew', 'release'],
  ...['delete record', 'remove member'],
] as const;
const step = fc.oneof(
  fc.record({
    by: fc.nat(REQUESTERS - 1),
    what: fc.constantFrom(...requestSteps),
    set: fc.constantFrom(...SETS),
  }),
  fc.record({ pass: fc.constantFrom(100, 3001, 10_001, 31_000, 61_000) }),
  fc.record({ deleted: fc.constantFrom('head', ...PARTS) }),
  fc.record({ ghost: fc.constantFrom(...SETS) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

describe.each([
  ['', false],
  [', with room for two leases and two tombstones in the head', true],
])('after random commands of two servers and random manual edits%s', (_, smallHead) => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true, smallHead });
  });
  afterAll(() => fixture.close());

  async function carryOut(semaphore: Resource, requesters: readonly Requester[], step: Step): Promise<void> {
    const { redis } = fixture;
    const state = fixture.key(semaphore, 'state');
    if ('pass' in step) return fixture.passInUse(semaphore, step.pass);
    if ('ghost' in step) {
      const isStored = (await redis.command('HEXISTS', state, 'h')) === 1;
      return isStored
        ? fixture.addGhost(semaphore, step.ghost, Number(await fixture.now()) + 5e6)
        : undefined;
    }
    if ('deleted' in step) {
      if (step.deleted === 'head') await redis.command('HDEL', state, 'h');
      else await redis.command('DEL', fixture.key(semaphore, step.deleted));
      return;
    }
    const by = requesters[step.by] as Requester;
    switch (step.what) {
      case 'heartbeat':
        if ((await by.touch()).waiters[0] === 'recheck') await by.claim();
        return;
      case 'renew':
      case 'release':
        return void (await by[step.what](by.secret));
      case 'delete record':
        return void (await redis.command('HDEL', state, `r${by.requestId}`));
      case 'remove member':
        return void (await redis.command('ZREM', fixture.key(semaphore, step.set), by.requestId));
      default:
        await by[step.what]();
    }
  }

  /** The permits of all requests that the store lets renew. */
  async function permitsOut(semaphore: Resource): Promise<number> {
    const { records, sets } = await fixture.stored(semaphore);
    const now = Number(await fixture.now());
    const held = sets.ends.filter(({ id, score }) => records[id]?.state === 'held' && score > now);
    return held.reduce((sum, { id }) => sum + Number(records[id]?.permits), 0);
  }

  async function comesToRest(semaphore: Resource): Promise<void> {
    const witness = await fixture.server('witness');
    for (let minute = 0; minute < 4; minute += 1) {
      await fixture.passInUse(semaphore, 61_000);
      await witness.store.touch(semaphore, []);
      await fixture.passInUse(semaphore, 4000);
      await witness.store.touch(semaphore, []);
    }
    is('granted', await new Requester(witness, semaphore, { permits: LIMIT }).try());
  }

  it('no script fails, no grant exceeds the limit, all permits can be had at rest, and every key expires', async () => {
    await assertWithinTime(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 50, size: 'max' }), async (steps) => {
        const semaphore = fixture.resource('semaphore');
        is('set', await fixture.setLimit(semaphore, LIMIT));
        const requesters = await Promise.all(
          Array.from({ length: REQUESTERS }, (_, i) =>
            fixture.request(i % 2 ? 's1' : 's2', semaphore, { permits: (i % 3) + 1, initialLimit: LIMIT }),
          ),
        );
        for (const step of steps) {
          await carryOut(semaphore, requesters, step);
          expect(await permitsOut(semaphore)).toBeLessThanOrEqual(LIMIT);
        }
        await comesToRest(semaphore);
        for (const part of PARTS) {
          const ttl = Number(await fixture.redis.command('PTTL', fixture.key(semaphore, part)));
          expect([part, ttl]).not.toEqual([part, -1]);
        }
      }),
      { weight: HISTORIES },
    );
  }, 100_000);
});
