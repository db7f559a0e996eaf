import type { Resource } from '../../../src/leases/lease';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import type { Requester, RequesterOptions } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

describe('lease-claim', () => {
  /** A lock with a holder on another server than its waiters, which are on the servers s1, s2, … */
  async function queued(lock: Resource, count: number, options?: RequesterOptions) {
    const alice = await fixture.request('s9', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    const waiters: Requester[] = [];
    for (let i = 1; i <= count; i += 1) {
      const waiter = await fixture.request(`s${i}`, lock, options);
      is('waiting', await waiter.queue());
      waiters.push(waiter);
    }
    const [bob, carol] = waiters as [Requester, Requester];
    return { alice, bob, carol };
  }

  it('grants the offer, and starts the ttl at the claim', async () => {
    const lock = fixture.resource();
    const { alice, bob } = await queued(lock, 1, { ttlMs: 8000 });
    await alice.release(alice.secret);
    const offered = await fixture.stored(lock);
    expect(offered.numbers.used).toBe(offered.numbers.limit);
    await fixture.passInUse(lock, 2700);
    const lease = is('granted', await bob.claim());
    expect(lease).toMatchObject({ remainingMs: 8000, ttlMs: 8000, secret: bob.secret });
    expect(String(lease.fencingToken)).toBe(offered.numbers.token);
  });

  it('answers a second claim with the same lease, and never shortens the lease', async () => {
    const lock = fixture.resource();
    const { alice, bob } = await queued(lock, 1, { ttlMs: 8000 });
    await alice.release(alice.secret);
    const first = is('granted', await bob.claim());
    await fixture.passInUse(lock, 5000);
    const second = is('granted', await bob.claim());
    expect(second.fencingToken).toBe(first.fencingToken);
    expect(second.remainingMs).toBe(8000);
    is('granted', await bob.renew(bob.secret, 60_000));
    expect(is('granted', await bob.claim()).remainingMs).toBeGreaterThan(59_000);
  });

  it('gives the lease exactly its ttl after the clock of Redis was set back', async () => {
    const lock = fixture.resource();
    const { alice, bob } = await queued(lock, 1, { ttlMs: 8000 });
    await alice.release(alice.secret);
    is('granted', await bob.claim());
    await fixture.pass(lock, -5000);
    expect(is('granted', await bob.claim()).remainingMs).toBe(8000);
  });

  it('counts as a sign of life of its server', async () => {
    const lock = fixture.resource();
    const { alice, carol } = await queued(lock, 2);
    await fixture.passInUse(lock, 3500);
    is('waiting', await carol.claim());
    await fixture.passInUse(lock, 3500);
    await fixture.beat(lock, 's1');
    await (await fixture.server('s1')).store.touch(lock, []);
    is('released', await alice.release(alice.secret));
    const { sets } = await fixture.stored(lock);
    expect([...sets.offers, ...sets.queue].map(({ id }) => id)).toContain(carol.requestId);
    await fixture.passInUse(lock, 3001);
    await fixture.beat(lock, 's1');
    await (await fixture.server('s1')).store.touch(lock, []);
    expect(await fixture.idsIn(lock, 'detached')).toContain(carol.requestId);
  });

  it('answers WAITING with the place of a request that still waits', async () => {
    const lock = fixture.resource();
    const { alice, bob, carol } = await queued(lock, 2);
    const { ticket } = carol;
    expect(is('waiting', await carol.claim())).toMatchObject({ ticket, position: 2 });
    expect(is('waiting', await bob.claim())).toMatchObject({ position: 1, snapshot: { waiterCount: 2 } });
    is('granted', await alice.renew(alice.secret));
  });

  it('restores a kept place in front of later waiters', async () => {
    const lock = fixture.resource();
    const { bob, carol } = await queued(lock, 2);
    is('withdrawn', await bob.withdraw());
    expect((await carol.touch()).waiters).toEqual([1]);
    is('waiting', await bob.claim());
    expect((await carol.touch()).waiters).toEqual([2]);
    expect(brokenInvariants(await fixture.stored(lock))).toEqual([]);
  });

  it('queues the request with its old ticket after the offer has lapsed, and skips the fencing token', async () => {
    const lock = fixture.resource();
    const { alice, bob, carol } = await queued(lock, 2);
    await alice.release(alice.secret);
    const skipped = BigInt((await fixture.stored(lock)).numbers.token as string);
    await fixture.beat(lock, 's2');
    await fixture.passInUse(lock, 3001);
    await fixture.beat(lock, 's2');
    // The next command detects the lapsed offer and offers the lock to the next waiter.
    const lease = is('granted', await carol.claim());
    expect(lease.fencingToken).toBeGreaterThan(skipped);
    const { ticket } = bob;
    expect((await fixture.stored(lock)).records[bob.requestId]).toMatchObject({ state: 'detached', ticket });
    expect(is('waiting', await bob.claim())).toMatchObject({ ticket, position: 1 });
    await carol.release(carol.secret);
    expect(is('granted', await bob.claim()).fencingToken).toBeGreaterThan(lease.fencingToken);
  });

  it('grants the lock with a new fencing token after the offer has lapsed, if no other request waits', async () => {
    const lock = fixture.resource();
    const { alice, bob } = await queued(lock, 1);
    await alice.release(alice.secret);
    const skipped = BigInt((await fixture.stored(lock)).numbers.token as string);
    await fixture.passInUse(lock, 3001);
    expect(is('granted', await bob.claim()).fencingToken).toBeGreaterThan(skipped);
  });

  it('keeps a place as long as the request waits again', async () => {
    const lock = fixture.resource();
    const { bob } = await queued(lock, 1, { ttlMs: 60_000 });
    is('withdrawn', await bob.withdraw());
    is('waiting', await bob.claim());
    expect((await bob.touch()).waiters).toEqual([1]);
    await fixture.passInUse(lock, 10_001);
    expect((await bob.touch()).waiters).toEqual([1]);
  });

  it('answers FINISHED with the cause after the lease has ended', async () => {
    const lock = fixture.resource();
    const { alice, bob } = await queued(lock, 1, { ttlMs: 4000 });
    await alice.release(alice.secret);
    is('granted', await bob.claim());
    await fixture.passInUse(lock, 4001);
    expect(await bob.claim()).toMatchObject({ kind: 'finished', cause: 'expired' });
  });

  it('answers `superseded` and changes nothing for an older call of the request', async () => {
    const lock = fixture.resource();
    const { alice, bob } = await queued(lock, 1);
    const newer = await fixture.request('s2', lock, { requestId: bob.requestId });
    await newer.queue();
    await alice.release(alice.secret);
    const before = await fixture.stored(lock);
    expect(await bob.claim()).toEqual({ kind: 'superseded' });
    expect((await fixture.stored(lock)).records).toEqual(before.records);
    is('granted', await newer.claim());
    await newer.release(newer.secret);
    expect(await bob.claim()).toEqual({ kind: 'superseded' });
  });

  describe('after Redis has lost all data', () => {
    it('restores the order of the waiters, even if the waiters claim in another order', async () => {
      const lock = fixture.resource();
      const { bob, carol } = await queued(lock, 2);
      const dave = await fixture.request('s3', lock);
      await dave.queue();
      await fixture.forget();
      // Redis knows no waiter, so the first claim is granted.
      const { ticket } = dave;
      is('granted', await dave.claim());
      const newcomer = await fixture.request('s1', lock);
      expect(is('waiting', await newcomer.queue()).position).toBe(1);
      expect(is('waiting', await carol.claim()).position).toBe(1);
      expect(is('waiting', await bob.claim()).position).toBe(1);
      expect(await fixture.idsIn(lock, 'queue')).toEqual(
        [bob, carol, newcomer].map(({ requestId }) => requestId),
      );
      expect(BigInt(newcomer.ticket)).toBeGreaterThan(BigInt(ticket));
    });

    it('restores all data of the request', async () => {
      const lock = fixture.resource();
      const { store } = await fixture.server('s1');
      const alice = await fixture.request('s1', lock);
      const data = { holderId: 'bob', metadata: { job: '7' }, mode: 'shared', ttlMs: 7000 } as const;
      const bob = await fixture.request('s1', lock, data);
      is('granted', await alice.try());
      is('waiting', await bob.queue());
      const { waiters } = await store.inspect(lock);
      await fixture.forget();
      is('granted', await (await fixture.request('s1', lock)).try());
      is('waiting', await bob.claim());
      expect((await store.inspect(lock)).waiters).toEqual(waiters);
      expect(waiters).toMatchObject([{ holderId: 'bob', metadata: { job: '7' }, mode: 'shared' }]);
      expect((await bob.touch()).waiters).toEqual([1]);
    });

    it('gives a new request a higher ticket than each restored ticket', async () => {
      const lock = fixture.resource();
      const { bob, carol } = await queued(lock, 2);
      await fixture.forget();
      is('granted', await carol.claim());
      is('waiting', await bob.claim());
      const newcomer = await fixture.request('s1', lock);
      is('waiting', await newcomer.queue());
      expect(BigInt(newcomer.ticket)).toBeGreaterThan(BigInt(carol.ticket));
    });

    it('keeps the ticket of the waiter, so that the next new request waits behind the waiter', async () => {
      const lock = fixture.resource();
      const { bob } = await queued(lock, 1);
      bob.ticket = String(BigInt(bob.ticket) + 3_600_000_000n);
      await fixture.forget();
      const other = await fixture.request('s1', lock, { ttlMs: 20_000 });
      is('granted', await other.try());
      is('waiting', await bob.claim());
      const newcomer = await fixture.request('s1', lock);
      expect(is('waiting', await newcomer.queue()).position).toBe(2);
    });

    it('answers UNKNOWN for a semaphore if the claim has no initial limit', async () => {
      const semaphore = fixture.resource('semaphore');
      const first = await fixture.request('s1', semaphore, { initialLimit: 1 });
      const second = await fixture.request('s1', semaphore);
      is('granted', await first.try());
      is('waiting', await second.queue());
      await fixture.forget();
      expect(await second.claim()).toEqual({ kind: 'unknown-resource' });
    });

    it('answers NEVER_FITS and creates no semaphore if the initial limit is below the permits of the claim', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 9);
      const holder = await fixture.request('s1', semaphore, { permits: 9 });
      const waiter = await fixture.request('s1', semaphore, { permits: 3, initialLimit: 2 });
      is('granted', await holder.try());
      is('waiting', await waiter.queue());
      await fixture.forget();
      expect(await waiter.claim()).toEqual({ kind: 'never-fits', limit: 2 });
      expect(await fixture.redis.command('EXISTS', fixture.key(semaphore, 'state'))).toBe('0');
    });

    it('creates the semaphore again with the initial limit of the claim', async () => {
      const semaphore = fixture.resource('semaphore');
      const holder = await fixture.request('s1', semaphore, { permits: 4, initialLimit: 4 });
      const waiter = await fixture.request('s1', semaphore, { permits: 3, initialLimit: 4 });
      is('granted', await holder.try());
      is('waiting', await waiter.queue());
      await fixture.forget();
      is('granted', await waiter.claim());
      expect((await fixture.stored(semaphore)).numbers).toMatchObject({ limit: '4', used: '3' });
    });
  });

  it('answers a second claim with the same lease, although the limit is below the permits of the lease', async () => {
    const { semaphore, holder } = await fixture.fullSemaphore(5);
    const waiter = await fixture.request('s1', semaphore, { permits: 5 });
    is('waiting', await waiter.queue());
    is('released', await holder.release(holder.secret));
    const { fencingToken } = is('granted', await waiter.claim());
    is('set', await fixture.setLimit(semaphore, 4));
    expect(is('granted', await waiter.claim()).fencingToken).toBe(fencingToken);
  });

  it('answers NEVER_FITS to a claim of more permits than the limit', async () => {
    const semaphore = fixture.resource('semaphore');
    const first = await fixture.request('s1', semaphore, { initialLimit: 5, permits: 5 });
    const second = await fixture.request('s1', semaphore, { initialLimit: 5, permits: 4 });
    is('granted', await first.try());
    is('waiting', await second.queue());
    await fixture.setNumbers(semaphore, { limit: 3 });
    expect(await second.claim()).toEqual({ kind: 'never-fits', limit: 3 });
  });
});

/** A script that makes room grants directly to a waiter of its own server (docs/design/leases.md, rule 5). */
describe('a direct grant', () => {
  /** A lease that its holder has handed over by a release, to a waiter of the same server. */
  async function handedOver(options: RequesterOptions = {}) {
    const lock = fixture.resource();
    const holder = await fixture.request('s1', lock);
    is('granted', await holder.queue());
    const waiter = await fixture.request('s1', lock, options);
    const { ticket } = is('waiting', await waiter.queue());
    const server = await fixture.server('s1');
    server.grants = [];
    is('released', await holder.release(holder.secret));
    const [direct] = server.grants;
    if (!direct) throw new Error('the reply has no direct grant');
    return { lock, waiter, ticket, ...direct, token: direct.grant.fencingToken };
  }

  it('is in the reply to the release, and the lease begins with the release', async () => {
    const { lock, waiter, call, grant } = await handedOver({ ttlMs: 5000 });
    expect(call).toEqual({ requestId: waiter.requestId, attach: waiter.attach });
    expect(grant).toMatchObject({ kind: 'granted', remainingMs: 5000, ttlMs: 5000, secret: waiter.secret });
    expect(await fixture.idsIn(lock, 'ends')).toEqual([waiter.requestId]);
    expect(is('granted', await waiter.keepAlive(waiter.secret)).fencingToken).toBe(grant.fencingToken);
  });

  it('is found by a touch and a claim if the reply is lost', async () => {
    const { waiter, token } = await handedOver();
    expect((await waiter.touch()).waiters).toEqual(['recheck']);
    expect(is('granted', await waiter.claim()).fencingToken).toBe(token);
  });

  it.each([2_000, 120_000])('is made for a ttl of %i ms', async (ttlMs) => {
    expect((await handedOver({ ttlMs })).grant.ttlMs).toBe(ttlMs);
  });

  it('is not made for a ttl of more than 2 minutes', async () => {
    await expect(handedOver({ ttlMs: 120_001 })).rejects.toThrow('the reply has no direct grant');
  });

  it('goes back to its ticket if its call has ended and no command of the call was answered with it', async () => {
    const { lock, waiter, ticket, token } = await handedOver();
    expect(is('withdrawn', await waiter.giveBackUnheard(token)).ticket).toBe(ticket);
    expect(await fixture.idsIn(lock, 'ends')).toEqual([]);
    expect(await fixture.idsIn(lock, 'detached')).toEqual([waiter.requestId]);
    // A repeated give-back changes nothing.
    is('withdrawn', await waiter.giveBackUnheard(token));
    expect(await fixture.idsIn(lock, 'detached')).toEqual([waiter.requestId]);
  });

  it.each(['claim', 'queue', 'withdraw'] as const)(
    'does not go back after the call was answered with it by the command `%s`',
    async (command) => {
      const { lock, waiter, token } = await handedOver();
      expect(is('granted', await waiter[command]()).fencingToken).toBe(token);
      is('kept', await waiter.giveBackUnheard(token));
      expect(await fixture.idsIn(lock, 'ends')).toEqual([waiter.requestId]);
    },
  );

  it('does not go back after a renewal, because a client knows the lease', async () => {
    const { waiter, token } = await handedOver();
    is('granted', await waiter.keepAlive(waiter.secret));
    is('kept', await waiter.giveBackUnheard(token));
  });

  it('does not go back if a later grant of the request has another token', async () => {
    const { waiter, token } = await handedOver();
    is('withdrawn', await waiter.giveBack(token));
    const { fencingToken } = is('granted', await waiter.claim());
    expect(fencingToken).toBeGreaterThan(token);
    is('withdrawn', await waiter.giveBackUnheard(token));
    is('granted', await waiter.keepAlive(waiter.secret));
  });

  it('that has expired leaves its tombstone, so that a repeated request is not granted twice', async () => {
    const { lock, waiter, token } = await handedOver({ ttlMs: 5000 });
    is('granted', await waiter.claim());
    await fixture.passInUse(lock, 5001);
    is('finished', await waiter.giveBackUnheard(token));
    is('finished', await waiter.queue());
  });
});
