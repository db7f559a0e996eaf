import { leaseTouch } from '../../../generated/redis/scripts';
import { LOCK_LIMIT } from '../../../src/leases/lease';
import { eventually } from '../../support/eventually';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { OFFERED_TTL_MS } from '../../support/leases/lease-requester';
import { FROZEN_CLOCK } from '../../support/leases/lease-stored';
import { is } from '../../support/reply-kinds';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

describe('lease-acquire', () => {
  describe('for a new request', () => {
    it('grants a free lock for the whole ttl, with the time of Redis as the fencing token (chapter 17)', async () => {
      const alice = await fixture.request('s1', fixture.resource(), { ttlMs: 12_345 });
      const lease = is('granted', await alice.try());
      expect(lease).toMatchObject({
        remainingMs: 12_345,
        ttlMs: 12_345,
        secret: alice.secret,
        permits: LOCK_LIMIT,
      });
      expect(lease.fencingToken).toBe(BigInt(await fixture.now()));
    });

    it('refuses a held lock to a request that does not wait, and shows the holder and the remaining time', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock, {
        holderId: 'alice',
        metadata: { job: '7' },
        ttlMs: 9000,
      });
      const { fencingToken } = is('granted', await alice.try());
      const { snapshot } = is('refused', await (await fixture.request('s1', lock)).try());
      expect(snapshot).toMatchObject({
        waiterCount: 0,
        holder: {
          holderId: 'alice',
          metadata: { job: '7' },
          fencingToken,
          permitCount: LOCK_LIMIT,
          mode: 'exclusive',
        },
      });
      expect(snapshot.holderEndMs).toBeLessThanOrEqual(9000);
      expect(snapshot.holderEndMs).toBeGreaterThan(8000);
      expect(snapshot.earliestEndMs).toBe(snapshot.holderEndMs);
      expect((await fixture.stored(lock)).sets.queue).toEqual([]);
    });

    it('gives a request that waits the last place in the queue', async () => {
      const lock = fixture.resource();
      await (await fixture.request('s1', lock)).try();
      const waiters = await Promise.all(['s1', 's2', 's1'].map((server) => fixture.request(server, lock)));
      const tickets: string[] = [];
      for (const [index, waiter] of waiters.entries()) {
        const place = is('waiting', await waiter.queue());
        expect(place.position).toBe(index + 1);
        expect(place.snapshot.waiterCount).toBe(index + 1);
        tickets.push(place.ticket);
      }
      expect([...tickets].sort()).toEqual(tickets);
      expect(new Set(tickets).size).toBe(3);
    });

    it('chooses the time of Redis as the first ticket, so that places stay in order after Redis has lost its data', async () => {
      const lock = fixture.resource();
      const bob = await fixture.request('s1', lock);
      is('granted', await (await fixture.request('s1', lock)).try());
      is('waiting', await bob.queue());
      expect(BigInt(bob.ticket)).toBeGreaterThanOrEqual(BigInt(await fixture.now()));
    });

    it('lets no new request overtake a waiter, even if the lock has just expired', async () => {
      const lock = fixture.resource();
      await (await fixture.request('s1', lock, { ttlMs: 5000 })).try();
      const waiter = await fixture.request('s2', lock);
      await waiter.queue();
      await fixture.passInUse(lock, 5001);
      await fixture.beat(lock, 's2');
      is('refused', await (await fixture.request('s1', lock)).try());
      is('granted', await waiter.claim());
    });

    it('answers QUEUE_FULL if the waiters and kept places have reached the maximum', async () => {
      const lock = fixture.resource();
      const options = { maxWaiters: 2 };
      await (await fixture.request('s1', lock)).try();
      const first = await fixture.request('s1', lock, options);
      await first.queue();
      const second = await fixture.request('s1', lock, options);
      await second.queue();
      expect(await (await fixture.request('s1', lock, options)).queue()).toEqual({
        kind: 'queue-full',
        waiterCount: 2,
      });
      is('withdrawn', await second.withdraw());
      expect(await (await fixture.request('s1', lock, options)).queue()).toEqual({
        kind: 'queue-full',
        waiterCount: 2,
      });
      // A request with a place in the queue needs no further place.
      is('waiting', await first.queue());
      is('waiting', await second.queue());
      expect((await fixture.stored(lock)).numbers).toMatchObject({ queue: '2', detached: '0' });
      expect(await fixture.idsIn(lock, 'detached')).toEqual([]);
    });

    it('grants a free lock at once, even if kept places have reached the maximum', async () => {
      const lock = fixture.resource();
      const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s1', lock)];
      const { secret } = is('granted', await alice.try());
      is('waiting', await bob.queue());
      is('withdrawn', await bob.withdraw());
      is('released', await alice.release(secret));
      is('granted', await (await fixture.request('s1', lock, { maxWaiters: 1 })).queue());
    });
  });

  describe('for permits of a semaphore or a shared lock', () => {
    it('answers UNKNOWN if the semaphore does not exist, and stores nothing', async () => {
      const semaphore = fixture.resource('semaphore');
      expect(await (await fixture.request('s1', semaphore)).queue()).toEqual({ kind: 'unknown-resource' });
      expect(await fixture.redis.command('EXISTS', fixture.key(semaphore, 'state'))).toBe('0');
    });

    it('creates a semaphore with the initial limit, and ignores later initial limits', async () => {
      const semaphore = fixture.resource('semaphore');
      const want = (permits: number, initialLimit?: number) =>
        fixture.request('s1', semaphore, { permits, initialLimit });
      is('granted', await (await want(2, 3)).try());
      is('refused', await (await want(2, 100)).try());
      is('granted', await (await want(1)).try());
      expect((await fixture.stored(semaphore)).numbers).toMatchObject({ limit: '3', used: '3' });
    });

    it('answers NEVER_FITS immediately to a request for more permits than the limit', async () => {
      const semaphore = fixture.resource('semaphore');
      is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 2 })).try());
      const greedy = await fixture.request('s1', semaphore, { permits: 3 });
      expect(await greedy.queue()).toEqual({ kind: 'never-fits', limit: 2 });
      expect((await fixture.stored(semaphore)).sets.queue).toEqual([]);
    });

    it('does not create a semaphore that is too small for the request', async () => {
      const semaphore = fixture.resource('semaphore');
      const greedy = await fixture.request('s1', semaphore, { permits: 3, initialLimit: 2 });
      expect(await greedy.queue()).toEqual({ kind: 'never-fits', limit: 2 });
      expect(await fixture.redis.command('EXISTS', fixture.key(semaphore, 'state'))).toBe('0');
      const modest = await fixture.request('s1', semaphore, { permits: 3, initialLimit: 4 });
      is('granted', await modest.queue());
      expect((await fixture.stored(semaphore)).numbers.limit).toBe('4');
    });

    it('creates a semaphore with an initial limit of 0, and grants nothing of it', async () => {
      const semaphore = fixture.resource('semaphore');
      is('waiting', await (await fixture.request('s1', semaphore, { permits: 7, initialLimit: 0 })).queue());
      is('refused', await (await fixture.request('s1', semaphore, { initialLimit: 5 })).try());
      expect((await fixture.stored(semaphore)).numbers).toMatchObject({ limit: '0', used: '0' });
    });

    it('does not let a small request overtake an earlier big request', async () => {
      const semaphore = fixture.resource('semaphore');
      const options = { initialLimit: 5 };
      const three = await fixture.request('s1', semaphore, { ...options, permits: 3 });
      const { secret } = is('granted', await three.try());
      const four = await fixture.request('s1', semaphore, { permits: 4 });
      const one = await fixture.request('s1', semaphore, { permits: 1 });
      is('waiting', await four.queue());
      expect(is('waiting', await one.queue()).position).toBe(2);
      is('refused', await (await fixture.request('s1', semaphore, { permits: 1 })).try());
      await three.release(secret);
      const first = is('granted', await four.claim());
      const second = is('granted', await one.claim());
      expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
      expect((await fixture.stored(semaphore)).numbers.used).toBe('5');
    });

    it('grants a lock to several shared holders and makes an exclusive request wait', async () => {
      const lock = fixture.resource();
      const readers = [
        await fixture.request('s1', lock, { mode: 'shared' }),
        await fixture.request('s2', lock, { mode: 'shared' }),
      ];
      for (const reader of readers) is('granted', await reader.try());
      const writer = await fixture.request('s1', lock);
      is('waiting', await writer.queue());
      // Readers and writers wait in the same queue, so that new readers do not starve a writer.
      is('refused', await (await fixture.request('s1', lock, { mode: 'shared' })).try());
      for (const reader of readers) await reader.release(reader.secret);
      is('granted', await writer.claim());
    });
  });

  describe('chooses fencing tokens that', () => {
    it('rise strictly, even if the clock is behind the last token', async () => {
      const lock = fixture.resource();
      const first = is('granted', await (await fixture.request('s1', lock, { ttlMs: 5000 })).try());
      const ahead = first.fencingToken + 3_600_000_000n;
      await fixture.setNumbers(lock, { token: Number(ahead) });
      await fixture.passInUse(lock, 5001);
      expect(is('granted', await (await fixture.request('s1', lock)).try()).fencingToken).toBe(ahead + 1n);
    });

    it('are exact up to the largest integer that a double holds', async () => {
      const lock = fixture.resource();
      await (await fixture.request('s1', lock, { ttlMs: 5000 })).try();
      await fixture.setNumbers(lock, { token: 2 ** 53 - 4 });
      for (const expected of [2n ** 53n - 3n, 2n ** 53n - 2n]) {
        await fixture.passInUse(lock, 5001);
        const next = await fixture.request('s1', lock, { ttlMs: 5000 });
        expect(is('granted', await next.try()).fencingToken).toBe(expected);
        expect(is('granted', await next.renew(next.secret)).fencingToken).toBe(expected);
        expect((await fixture.stored(lock)).numbers.token).toBe(String(expected));
      }
    });

    it('are exact, because a script fails if the clock of Redis is later than the largest exact integer', async () => {
      const lock = fixture.resource();
      const now = await fixture.now();
      await fixture.redis.command('HSET', FROZEN_CLOCK, 's', 9_007_199_254, 'us', 740_992);
      const failure = await fixture.step(leaseTouch, lock, '[]').catch(String);
      await fixture.redis.command('HSET', FROZEN_CLOCK, 's', now.slice(0, -6), 'us', now.slice(-6));
      expect(failure).toContain('clock is past 2^53 us');
    });

    it('differ for all shared holders', async () => {
      const lock = fixture.resource();
      const tokens = new Set<bigint>();
      for (let i = 0; i < 20; i += 1) {
        tokens.add(
          is('granted', await (await fixture.request('s1', lock, { mode: 'shared' })).try()).fencingToken,
        );
      }
      expect(tokens.size).toBe(20);
    });
  });
});

describe('lease-acquire', () => {
  describe('for a repeated request', () => {
    it('answers the same lease with its remaining time', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock, { ttlMs: 30_000 });
      const first = is('granted', await alice.try());
      await fixture.passInUse(lock, 10_000);
      const { requestId } = alice;
      const again = await fixture.request('s2', lock, {
        requestId,
        ttlMs: 60_000,
        metadata: { other: 'yes' },
      });
      const second = is('granted', await again.try());
      expect(second).toMatchObject({ fencingToken: first.fencingToken, secret: first.secret, ttlMs: 30_000 });
      expect(second.remainingMs).toBeLessThanOrEqual(20_000);
      expect(second.remainingMs).toBeGreaterThan(19_000);
    });

    it('keeps the place, and answers `superseded` to all calls but the newest', async () => {
      const lock = fixture.resource();
      await (await fixture.request('s1', lock)).try();
      const bob = await fixture.request('s1', lock);
      const first = is('waiting', await bob.queue());
      await (await fixture.request('s1', lock)).queue();
      const s1 = await fixture.server('s1');
      await fixture.listen(s1);
      const bobAgain = await fixture.request('s2', lock, { requestId: bob.requestId });
      expect(is('waiting', await bobAgain.queue())).toMatchObject({ ticket: first.ticket, position: 1 });
      expect(await bob.claim()).toEqual({ kind: 'superseded' });
      expect(await bob.withdraw()).toEqual({ kind: 'superseded' });
      expect(await bob.giveBack()).toEqual({ kind: 'superseded' });
      expect((await bob.touch()).waiters).toEqual(['superseded']);
      await eventually('the hint to the server of the older call', () => s1.hinted.includes(bob.requestId));
    });

    it.each([
      ['mode', { mode: 'shared', permits: LOCK_LIMIT }],
      ['permit_count', { permits: 1 }],
      ['holder_id', { holderId: 'eve' }],
    ] as const)(
      'answers MISMATCH to another %s, whether the request waits or holds',
      async (field, other) => {
        const lock = fixture.resource();
        const alice = await fixture.request('s1', lock, { holderId: 'alice' });
        const bob = await fixture.request('s1', lock, { holderId: 'bob' });
        const { secret } = is('granted', await alice.try());
        const place = is('waiting', await bob.queue());
        for (const { requestId, options } of [alice, bob]) {
          const repeat = await fixture.request('s1', lock, { ...options, ...other, requestId, stream: true });
          expect(await repeat.queue()).toEqual({ kind: 'mismatch', field });
        }
        is('granted', await alice.renew(secret));
        expect(is('waiting', await bob.queue()).ticket).toBe(place.ticket);
      },
    );

    it('still lets the call give the grant back if the same call was answered twice', async () => {
      const [lock, other] = [fixture.resource(), fixture.resource()];
      const unary = await fixture.request('s1', lock);
      const stream = await fixture.request('s1', other, { stream: true });
      for (const call of [unary, stream]) {
        is('granted', await call.queue());
        is('granted', await call.queue());
        is('withdrawn', await call.giveBack());
      }
    });

    it('takes the ttl and the metadata of the newest call of a waiting request', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      const bob = await fixture.request('s1', lock, { ttlMs: 5000, metadata: { call: 'older' } });
      const { requestId } = bob;
      const newest = { requestId, ttlMs: 9000, metadata: { call: 'newer' } };
      const bobAgain = await fixture.request('s1', lock, newest);
      const { secret } = is('granted', await alice.try());
      is('waiting', await bob.queue());
      is('waiting', await bobAgain.queue());
      await alice.release(secret);
      expect(is('granted', await bobAgain.claim())).toMatchObject({ ttlMs: 9000, remainingMs: 9000 });
      const [holder] = (await (await fixture.server('s1')).store.inspect(lock)).holders;
      expect(holder?.metadata).toEqual({ call: 'newer' });
    });

    it('keeps a place as long as the request waits again', async () => {
      const lock = fixture.resource();
      is('granted', await (await fixture.request('s1', lock, { ttlMs: 60_000 })).try());
      const bob = await fixture.request('s1', lock);
      is('waiting', await bob.queue());
      is('withdrawn', await bob.withdraw());
      is('waiting', await bob.queue());
      await fixture.passInUse(lock, 10_001);
      expect((await bob.touch()).waiters).toEqual([1]);
    });

    it('ends the wait if the repeated request does not wait, and keeps the place', async () => {
      const lock = fixture.resource();
      await (await fixture.request('s1', lock)).try();
      const bob = await fixture.request('s1', lock);
      const carol = await fixture.request('s1', lock);
      const place = is('waiting', await bob.queue());
      await carol.queue();
      is('refused', await bob.try());
      expect((await carol.touch()).waiters).toEqual([1]);
      expect(is('waiting', await bob.queue())).toMatchObject({ ticket: place.ticket, position: 1 });
    });

    it('offers permits to the later waiters if the repeated request does not wait', async () => {
      const semaphore = fixture.resource('semaphore');
      const options = { initialLimit: 3 };
      is('granted', await (await fixture.request('s1', semaphore, { ...options, permits: 2 })).try());
      const heavy = await fixture.request('s1', semaphore, { ...options, permits: 3 });
      const light = await fixture.request('s1', semaphore, { ...options, permits: 1, ttlMs: OFFERED_TTL_MS });
      is('waiting', await heavy.queue());
      is('waiting', await light.queue());
      is('refused', await heavy.try());
      expect((await fixture.server('s1')).rechecks).toContain(light.requestId);
      is('granted', await light.claim());
    });

    it('grants the offer of the request', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s2', lock);
      const bob = await fixture.request('s1', lock, { ttlMs: 7000 });
      const { secret } = is('granted', await alice.try());
      await bob.queue();
      await alice.release(secret);
      expect((await fixture.stored(lock)).sets.offers).toHaveLength(1);
      expect(is('granted', await bob.try())).toMatchObject({ remainingMs: 7000 });
      expect((await fixture.stored(lock)).sets.offers).toEqual([]);
    });

    it('answers FINISHED for a minute after the release, and then treats the request as new', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      const lease = is('granted', await alice.try());
      await alice.release(lease.secret);
      const repeat = await fixture.request('s2', lock, { requestId: alice.requestId });
      await fixture.passInUse(lock, 59_700);
      expect(await repeat.queue()).toEqual({ kind: 'finished', cause: 'released' });
      await fixture.passInUse(lock, 400);
      const fresh = is('granted', await repeat.queue());
      expect(fresh.fencingToken).toBeGreaterThan(lease.fencingToken);
      expect(fresh.secret).toBe(repeat.secret);
    });

    it('answers FINISHED if the lease has expired, even if no script has purged the lease yet', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock, { ttlMs: 5000 });
      await alice.try();
      await fixture.passInUse(lock, 5001);
      expect(await alice.queue()).toMatchObject({ kind: 'finished', cause: 'expired' });
    });
  });

  describe('for a stream', () => {
    it('transfers the lease to the newer stream, renews the lease and keeps the longer ttl', async () => {
      const lock = fixture.resource();
      const older = await fixture.request('s1', lock, { stream: true, ttlMs: 5000 });
      const first = is('granted', await older.queue());
      await fixture.passInUse(lock, 4000);
      const s1 = await fixture.server('s1');
      await fixture.listen(s1);
      const newer = await fixture.request('s2', lock, {
        requestId: older.requestId,
        stream: true,
        ttlMs: 9000,
      });
      const second = is('granted', await newer.queue());
      expect(second).toMatchObject({ fencingToken: first.fencingToken, secret: first.secret });
      expect(second).toMatchObject({ remainingMs: 9000, ttlMs: 9000 });
      expect(await older.keepAlive(first.secret)).toEqual({ kind: 'superseded' });
      expect(await older.giveBack()).toEqual({ kind: 'superseded' });
      await eventually('the hint to the server of the older stream', () =>
        s1.hinted.includes(older.requestId),
      );
      is('granted', await newer.keepAlive(first.secret));
    });

    it('lets only the newer stream end the lease after `lost`, and neither stream give the lease back', async () => {
      const lock = fixture.resource();
      const older = await fixture.request('s1', lock, { stream: true });
      const { secret } = is('granted', await older.queue());
      const newer = await fixture.request('s2', lock, { requestId: older.requestId, stream: true });
      is('granted', await newer.queue());
      is('kept', await newer.giveBack());
      is('superseded', await older.releaseAfterLoss(secret));
      is('released', await newer.releaseAfterLoss(secret));
    });

    it('does not shorten the lease if the newer stream has a shorter ttl', async () => {
      const lock = fixture.resource();
      const older = await fixture.request('s1', lock, { stream: true, ttlMs: 9000 });
      await older.queue();
      const newer = await fixture.request('s1', lock, {
        requestId: older.requestId,
        stream: true,
        ttlMs: 500,
      });
      const { remainingMs, ttlMs } = is('granted', await newer.queue());
      expect(remainingMs).toBeGreaterThan(8000);
      expect(ttlMs).toBe(9000);
    });

    it('keeps the lease of the stream if a unary acquire repeats the request', async () => {
      const lock = fixture.resource();
      const stream = await fixture.request('s1', lock, { stream: true });
      const { secret } = is('granted', await stream.queue());
      const unary = await fixture.request('s2', lock, { requestId: stream.requestId });
      is('granted', await unary.try());
      is('granted', await stream.keepAlive(secret));
    });
  });
});
