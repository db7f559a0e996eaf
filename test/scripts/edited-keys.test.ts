import { LeaseFixture } from '../support/leases/lease-fixture';
import { PARTS } from '../support/leases/lease-stored';
import type { Requester } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

/** A manual edit inside a key of a resource must not grant permits twice, block the resource, or leave a key for ever. */
describe('after a manual edit inside a key of a resource', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

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
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

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
