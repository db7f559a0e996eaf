import type { Resource } from '../../src/engine/leases/lease';
import { PermitsFixture } from '../support/permits-fixture';
import type { Requester, RequesterOptions } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

describe('permits-claim', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  /** A holder, and waiters behind it on servers s1, s2, ... */
  async function queued(lock: Resource, count: number, options?: RequesterOptions) {
    const alice = await on.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    const waiters: Requester[] = [];
    for (let i = 1; i <= count; i += 1) {
      const waiter = await on.request(`s${i}`, lock, options);
      is('waiting', await waiter.queue());
      waiters.push(waiter);
    }
    const [bob, carol] = waiters as [Requester, Requester];
    return { alice, bob, carol };
  }

  it('takes what was offered, and the whole ttl begins then', async () => {
    const lock = on.resource();
    const { alice, bob } = await queued(lock, 1, { ttlMs: 8000 });
    await alice.release(alice.secret);
    const offered = await on.stored(lock);
    expect(offered.numbers.used).toBe(offered.numbers.limit);
    await on.passInUse(lock, 2700);
    const lease = is('granted', await bob.claim());
    expect(lease).toMatchObject({ remainingMs: 8000, ttlMs: 8000, secret: bob.secret });
    expect(String(lease.fencingToken)).toBe(offered.numbers.token);
  });

  it('twice gives the same lease, with an end that is never nearer', async () => {
    const lock = on.resource();
    const { alice, bob } = await queued(lock, 1, { ttlMs: 8000 });
    await alice.release(alice.secret);
    const first = is('granted', await bob.claim());
    await on.passInUse(lock, 5000);
    const second = is('granted', await bob.claim());
    expect(second.fencingToken).toBe(first.fencingToken);
    expect(second.remainingMs).toBe(8000);
    is('granted', await bob.renew(bob.secret, 60_000));
    expect(is('granted', await bob.claim()).remainingMs).toBeGreaterThan(59_000);
  });

  it('leaves the lease its ttl, and no more than that when the clock of Redis was set back', async () => {
    const lock = on.resource();
    const { alice, bob } = await queued(lock, 1, { ttlMs: 8000 });
    await alice.release(alice.secret);
    is('granted', await bob.claim());
    await on.pass(lock, -5000);
    expect(is('granted', await bob.claim()).remainingMs).toBe(8000);
  });

  it('is a sign of life of its server', async () => {
    const lock = on.resource();
    const { alice, carol } = await queued(lock, 2);
    await on.passInUse(lock, 3500);
    is('waiting', await carol.claim());
    await on.passInUse(lock, 3500);
    await on.beat(lock, 's1');
    await (await on.server('s1')).store.touch(lock, []);
    is('released', await alice.release(alice.secret));
    const { sets } = await on.stored(lock);
    expect([...sets.offers, ...sets.queue].map(({ id }) => id)).toContain(carol.requestId);
    await on.passInUse(lock, 3001);
    await on.beat(lock, 's1');
    await (await on.server('s1')).store.touch(lock, []);
    expect((await on.stored(lock)).sets.detached.map(({ id }) => id)).toContain(carol.requestId);
  });

  it('of one that still waits says its place', async () => {
    const lock = on.resource();
    const { alice, bob, carol } = await queued(lock, 2);
    const { ticket } = carol;
    expect(is('waiting', await carol.claim())).toMatchObject({ ticket, position: 2 });
    expect(is('waiting', await bob.claim())).toMatchObject({ position: 1, snapshot: { waiterCount: 2 } });
    is('granted', await alice.renew(alice.secret));
  });

  it('brings a place back that was kept, in front of those who came later', async () => {
    const lock = on.resource();
    const { bob, carol } = await queued(lock, 2);
    is('withdrawn', await bob.withdraw());
    expect((await carol.touch()).waiters).toEqual([1]);
    is('waiting', await bob.claim());
    expect((await carol.touch()).waiters).toEqual([2]);
  });

  it('of a lapsed offer queues again at the same ticket, and the token is skipped', async () => {
    const lock = on.resource();
    const { alice, bob, carol } = await queued(lock, 2);
    await alice.release(alice.secret);
    const skipped = BigInt((await on.stored(lock)).numbers.token as string);
    await on.beat(lock, 's2');
    await on.passInUse(lock, 3001);
    await on.beat(lock, 's2');
    // The lapse is seen by the next command: the lock goes to the next in line.
    const lease = is('granted', await carol.claim());
    expect(lease.fencingToken).toBeGreaterThan(skipped);
    const { ticket } = bob;
    expect((await on.stored(lock)).records[bob.requestId]).toMatchObject({ s: 'D', t: ticket });
    expect(is('waiting', await bob.claim())).toMatchObject({ ticket, position: 1 });
    await carol.release(carol.secret);
    expect(is('granted', await bob.claim()).fencingToken).toBeGreaterThan(lease.fencingToken);
  });

  it('of a lapsed offer takes the lock at once if nobody else waits, under a new token', async () => {
    const lock = on.resource();
    const { alice, bob } = await queued(lock, 1);
    await alice.release(alice.secret);
    const skipped = BigInt((await on.stored(lock)).numbers.token as string);
    await on.passInUse(lock, 3001);
    expect(is('granted', await bob.claim()).fencingToken).toBeGreaterThan(skipped);
  });

  it('of a lease that has ended says so', async () => {
    const lock = on.resource();
    const { alice, bob } = await queued(lock, 1, { ttlMs: 4000 });
    await alice.release(alice.secret);
    is('granted', await bob.claim());
    await on.passInUse(lock, 4001);
    expect(await bob.claim()).toEqual({ kind: 'finished', cause: 'expired' });
  });

  it('acts only for the call that speaks for the request now', async () => {
    const lock = on.resource();
    const { alice, bob } = await queued(lock, 1);
    const newer = await on.request('s2', lock, { requestId: bob.requestId });
    await newer.queue();
    await alice.release(alice.secret);
    const before = await on.stored(lock);
    expect(await bob.claim()).toEqual({ kind: 'superseded' });
    expect((await on.stored(lock)).records).toEqual(before.records);
    is('granted', await newer.claim());
    await newer.release(newer.secret);
    expect(await bob.claim()).toEqual({ kind: 'superseded' });
  });

  describe('after the store has forgotten everything', () => {
    it('puts each waiter back to its own place, whoever comes first', async () => {
      const lock = on.resource();
      const { bob, carol } = await queued(lock, 2);
      const dave = await on.request('s3', lock);
      await dave.queue();
      await on.forget();
      // Nobody waits as far as the store knows, so the last one is first to be served ...
      const { ticket } = dave;
      is('granted', await dave.claim());
      // ... and the others wait in their own order, though they come back in the wrong one.
      const newcomer = await on.request('s1', lock);
      expect(is('waiting', await newcomer.queue()).position).toBe(1);
      expect(is('waiting', await carol.claim()).position).toBe(1);
      expect(is('waiting', await bob.claim()).position).toBe(1);
      expect((await on.stored(lock)).sets.queue.map(({ id }) => id)).toEqual(
        [bob, carol, newcomer].map(({ requestId }) => requestId),
      );
      expect(BigInt(newcomer.ticket)).toBeGreaterThan(BigInt(ticket));
    });

    it('is held to the ticket that was given: the next newcomer comes behind it', async () => {
      const lock = on.resource();
      const { bob } = await queued(lock, 1);
      bob.ticket = String(BigInt(bob.ticket) + 3_600_000_000n);
      await on.forget();
      const other = await on.request('s1', lock, { ttlMs: 20_000 });
      is('granted', await other.try());
      is('waiting', await bob.claim());
      const newcomer = await on.request('s1', lock);
      expect(is('waiting', await newcomer.queue()).position).toBe(2);
    });

    it('does not create a semaphore without a limit', async () => {
      const semaphore = on.resource('semaphore');
      const first = await on.request('s1', semaphore, { initialLimit: 1 });
      const second = await on.request('s1', semaphore);
      is('granted', await first.try());
      is('waiting', await second.queue());
      await on.forget();
      expect(await second.claim()).toEqual({ kind: 'unknown-resource' });
    });

    it('does not create one too small for the request that brings its limit', async () => {
      const semaphore = on.resource('semaphore');
      await on.setLimit(semaphore, 9);
      const holder = await on.request('s1', semaphore, { permits: 9 });
      const waiter = await on.request('s1', semaphore, { permits: 3, initialLimit: 2 });
      is('granted', await holder.try());
      is('waiting', await waiter.queue());
      await on.forget();
      expect(await waiter.claim()).toEqual({ kind: 'never-fits', limit: 2 });
      expect(await on.redis.command('EXISTS', on.key(semaphore, 'state'))).toBe('0');
    });

    it('creates one again by a limit that its waiters bring', async () => {
      const semaphore = on.resource('semaphore');
      const holder = await on.request('s1', semaphore, { permits: 4, initialLimit: 4 });
      const waiter = await on.request('s1', semaphore, { permits: 3, initialLimit: 4 });
      is('granted', await holder.try());
      is('waiting', await waiter.queue());
      await on.forget();
      is('granted', await waiter.claim());
      expect((await on.stored(semaphore)).numbers).toMatchObject({ limit: '4', used: '3' });
    });
  });

  it('of more than the limit says that it never fits', async () => {
    const semaphore = on.resource('semaphore');
    const first = await on.request('s1', semaphore, { initialLimit: 5, permits: 5 });
    const second = await on.request('s1', semaphore, { initialLimit: 5, permits: 4 });
    is('granted', await first.try());
    is('waiting', await second.queue());
    await on.redis.command('HSET', on.key(semaphore, 'state'), 'limit', 3);
    expect(await second.claim()).toEqual({ kind: 'never-fits', limit: 3 });
  });
});
