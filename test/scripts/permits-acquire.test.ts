import { LOCK_LIMIT } from '../../src/engine/leases/limits';
import { eventually } from '../support/eventually';
import { PermitsFixture } from '../support/permits-fixture';
import { is } from '../support/reply-kinds';

describe('permits-acquire', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  describe('a request that is new', () => {
    it('is granted a free lock for its whole ttl, with a token that is the clock of Redis (chapter 17)', async () => {
      const alice = await on.request('s1', on.resource(), { ttlMs: 12_345 });
      const before = BigInt(Date.now()) * 1000n;
      const lease = is('granted', await alice.try());
      expect(lease).toMatchObject({
        remainingMs: 12_345,
        ttlMs: 12_345,
        secret: alice.secret,
        permits: LOCK_LIMIT,
      });
      expect(lease.fencingToken).toBeGreaterThanOrEqual(before);
      expect(lease.fencingToken).toBeLessThanOrEqual(BigInt(Date.now() + 1) * 1000n);
    });

    it('is refused a held lock if it does not wait, and told who holds it and for how long', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock, { holderId: 'alice', metadata: { job: '7' }, ttlMs: 9000 });
      const { fencingToken } = is('granted', await alice.try());
      const { snapshot } = is('refused', await (await on.request('s1', lock)).try());
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
      expect((await on.stored(lock)).sets.queue).toEqual([]);
    });

    it('waits in the order in which it came', async () => {
      const lock = on.resource();
      await (await on.request('s1', lock)).try();
      const waiters = await Promise.all(['s1', 's2', 's1'].map((server) => on.request(server, lock)));
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

    it('never passes somebody who waits, not even when the lock has just come free', async () => {
      const lock = on.resource();
      await (await on.request('s1', lock, { ttlMs: 5000 })).try();
      const waiter = await on.request('s2', lock);
      await waiter.queue();
      await on.passInUse(lock, 5001);
      await on.beat(lock, 's2');
      is('refused', await (await on.request('s1', lock)).try());
      is('granted', await waiter.claim());
    });

    it('finds the queue full at the limit, which counts the places that are kept', async () => {
      const lock = on.resource();
      const options = { maxWaiters: 2 };
      await (await on.request('s1', lock)).try();
      const first = await on.request('s1', lock, options);
      await first.queue();
      const second = await on.request('s1', lock, options);
      await second.queue();
      expect(await (await on.request('s1', lock, options)).queue()).toEqual({
        kind: 'queue-full',
        waiterCount: 2,
      });
      is('withdrawn', await second.withdraw());
      expect(await (await on.request('s1', lock, options)).queue()).toEqual({
        kind: 'queue-full',
        waiterCount: 2,
      });
      // Who has a place does not need another.
      is('waiting', await first.queue());
      is('waiting', await second.queue());
    });
  });

  describe('a request that is repeated', () => {
    it('gets the same lease again, with the time that is left of it', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock, { ttlMs: 30_000 });
      const first = is('granted', await alice.try());
      await on.passInUse(lock, 10_000);
      const { requestId } = alice;
      const again = await on.request('s2', lock, { requestId, ttlMs: 60_000, metadata: { other: 'yes' } });
      const second = is('granted', await again.try());
      expect(second).toMatchObject({ fencingToken: first.fencingToken, secret: first.secret, ttlMs: 30_000 });
      expect(second.remainingMs).toBeLessThanOrEqual(20_000);
      expect(second.remainingMs).toBeGreaterThan(19_000);
    });

    it('keeps its place, and the newest call speaks for it', async () => {
      const lock = on.resource();
      await (await on.request('s1', lock)).try();
      const bob = await on.request('s1', lock);
      const first = is('waiting', await bob.queue());
      await (await on.request('s1', lock)).queue();
      const s1 = await on.server('s1');
      await on.listen(s1);
      const bobAgain = await on.request('s2', lock, { requestId: bob.requestId });
      expect(is('waiting', await bobAgain.queue())).toMatchObject({ ticket: first.ticket, position: 1 });
      expect(await bob.claim()).toEqual({ kind: 'superseded' });
      expect(await bob.withdraw()).toEqual({ kind: 'superseded' });
      expect(await bob.giveBack()).toEqual({ kind: 'superseded' });
      expect((await bob.touch()).waiters).toEqual(['superseded']);
      await eventually('the older call to be told', () => s1.hinted.includes(bob.requestId));
    });

    it.each([
      ['mode', { mode: 'shared', permits: LOCK_LIMIT }],
      ['permit_count', { permits: 1 }],
      ['holder_id', { holderId: 'eve' }],
    ] as const)('is refused with another %s, whether it waits or holds', async (field, other) => {
      const lock = on.resource();
      const alice = await on.request('s1', lock, { holderId: 'alice' });
      const bob = await on.request('s1', lock, { holderId: 'bob' });
      const { secret } = is('granted', await alice.try());
      const place = is('waiting', await bob.queue());
      for (const { requestId, options } of [alice, bob]) {
        const repeat = await on.request('s1', lock, { ...options, ...other, requestId, stream: true });
        expect(await repeat.queue()).toEqual({ kind: 'mismatch', field });
      }
      is('granted', await alice.renew(secret));
      expect(is('waiting', await bob.queue()).ticket).toBe(place.ticket);
    });

    it('leaves the queue if it does not wait any longer, and its place is kept', async () => {
      const lock = on.resource();
      await (await on.request('s1', lock)).try();
      const bob = await on.request('s1', lock);
      const carol = await on.request('s1', lock);
      const place = is('waiting', await bob.queue());
      await carol.queue();
      is('refused', await bob.try());
      expect((await carol.touch()).waiters).toEqual([1]);
      expect(is('waiting', await bob.queue())).toMatchObject({ ticket: place.ticket, position: 1 });
    });

    it('lets those behind it have what fits them when it leaves the queue', async () => {
      const semaphore = on.resource('semaphore');
      const options = { initialLimit: 3 };
      is('granted', await (await on.request('s1', semaphore, { ...options, permits: 2 })).try());
      const heavy = await on.request('s1', semaphore, { ...options, permits: 3 });
      const light = await on.request('s1', semaphore, { ...options, permits: 1 });
      is('waiting', await heavy.queue());
      is('waiting', await light.queue());
      is('refused', await heavy.try());
      expect((await on.server('s1')).looks).toContain(light.requestId);
      is('granted', await light.claim());
    });

    it('claims what it was offered meanwhile', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock);
      const bob = await on.request('s1', lock, { ttlMs: 7000 });
      const { secret } = is('granted', await alice.try());
      await bob.queue();
      await alice.release(secret);
      expect((await on.stored(lock)).sets.offers).toHaveLength(1);
      expect(is('granted', await bob.try())).toMatchObject({ remainingMs: 7000 });
      expect((await on.stored(lock)).sets.offers).toEqual([]);
    });

    it('has finished for a minute after its lease was released, and then is new', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock);
      const lease = is('granted', await alice.try());
      await alice.release(lease.secret);
      const repeat = await on.request('s2', lock, { requestId: alice.requestId });
      await on.passInUse(lock, 59_700);
      expect(await repeat.queue()).toEqual({ kind: 'finished', cause: 'released' });
      await on.passInUse(lock, 400);
      const fresh = is('granted', await repeat.queue());
      expect(fresh.fencingToken).toBeGreaterThan(lease.fencingToken);
      expect(fresh.secret).toBe(repeat.secret);
    });

    it('has finished when its own lease has expired, though nobody noticed before', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock, { ttlMs: 5000 });
      await alice.try();
      await on.passInUse(lock, 5001);
      expect(await alice.queue()).toEqual({ kind: 'finished', cause: 'expired' });
    });
  });

  describe('a stream', () => {
    it('takes over what its request holds: renewed, the longer ttl kept, the older stream superseded', async () => {
      const lock = on.resource();
      const older = await on.request('s1', lock, { stream: true, ttlMs: 5000 });
      const first = is('granted', await older.queue());
      await on.passInUse(lock, 4000);
      const s1 = await on.server('s1');
      await on.listen(s1);
      const newer = await on.request('s2', lock, { requestId: older.requestId, stream: true, ttlMs: 9000 });
      const second = is('granted', await newer.queue());
      expect(second).toMatchObject({ fencingToken: first.fencingToken, secret: first.secret });
      expect(second).toMatchObject({ remainingMs: 9000, ttlMs: 9000 });
      expect(await older.keepAlive(first.secret)).toEqual({ kind: 'superseded' });
      expect(await older.giveBack()).toEqual({ kind: 'superseded' });
      await eventually('the older stream to be told', () => s1.hinted.includes(older.requestId));
      is('granted', await newer.keepAlive(first.secret));
    });

    it('never brings the end nearer by taking over with a shorter ttl', async () => {
      const lock = on.resource();
      const older = await on.request('s1', lock, { stream: true, ttlMs: 9000 });
      await older.queue();
      const newer = await on.request('s1', lock, { requestId: older.requestId, stream: true, ttlMs: 500 });
      const { remainingMs, ttlMs } = is('granted', await newer.queue());
      expect(remainingMs).toBeGreaterThan(8000);
      expect(ttlMs).toBe(9000);
    });

    it('goes on undisturbed when a unary acquire repeats its request', async () => {
      const lock = on.resource();
      const stream = await on.request('s1', lock, { stream: true });
      const { secret } = is('granted', await stream.queue());
      const unary = await on.request('s2', lock, { requestId: stream.requestId });
      is('granted', await unary.try());
      is('granted', await stream.keepAlive(secret));
    });
  });

  describe('permits and limits', () => {
    it('does not know a semaphore that nobody created, and stores nothing of it', async () => {
      const semaphore = on.resource('semaphore');
      expect(await (await on.request('s1', semaphore)).queue()).toEqual({ kind: 'unknown-resource' });
      expect(await on.redis.command('EXISTS', on.key(semaphore, 'state'))).toBe('0');
    });

    it('creates a semaphore by an initial limit, which afterwards changes nothing', async () => {
      const semaphore = on.resource('semaphore');
      const want = (permits: number, initialLimit?: number) =>
        on.request('s1', semaphore, { permits, initialLimit });
      is('granted', await (await want(2, 3)).try());
      is('refused', await (await want(2, 100)).try());
      is('granted', await (await want(1)).try());
      expect((await on.stored(semaphore)).numbers).toMatchObject({ limit: '3', used: '3' });
    });

    it('says at once that more than the limit never fits', async () => {
      const semaphore = on.resource('semaphore');
      is('granted', await (await on.request('s1', semaphore, { initialLimit: 2 })).try());
      const greedy = await on.request('s1', semaphore, { permits: 3 });
      expect(await greedy.queue()).toEqual({ kind: 'never-fits', limit: 2 });
      expect((await on.stored(semaphore)).sets.queue).toEqual([]);
    });

    it('does not make a semaphore that is too small for the request that brings it', async () => {
      const semaphore = on.resource('semaphore');
      const greedy = await on.request('s1', semaphore, { permits: 3, initialLimit: 2 });
      expect(await greedy.queue()).toEqual({ kind: 'never-fits', limit: 2 });
      expect(await on.redis.command('EXISTS', on.key(semaphore, 'state'))).toBe('0');
      const modest = await on.request('s1', semaphore, { permits: 3, initialLimit: 4 });
      is('granted', await modest.queue());
      expect((await on.stored(semaphore)).numbers.limit).toBe('4');
    });

    it('makes a semaphore by an initial limit of 0, of which everybody waits', async () => {
      const semaphore = on.resource('semaphore');
      is('waiting', await (await on.request('s1', semaphore, { permits: 7, initialLimit: 0 })).queue());
      is('refused', await (await on.request('s1', semaphore, { initialLimit: 5 })).try());
      expect((await on.stored(semaphore)).numbers).toMatchObject({ limit: '0', used: '0' });
    });

    it('does not let a small request pass a big one that came before it', async () => {
      const semaphore = on.resource('semaphore');
      const options = { initialLimit: 5 };
      const three = await on.request('s1', semaphore, { ...options, permits: 3 });
      const { secret } = is('granted', await three.try());
      const four = await on.request('s1', semaphore, { permits: 4 });
      const one = await on.request('s1', semaphore, { permits: 1 });
      is('waiting', await four.queue());
      expect(is('waiting', await one.queue()).position).toBe(2);
      is('refused', await (await on.request('s1', semaphore, { permits: 1 })).try());
      await three.release(secret);
      const first = is('granted', await four.claim());
      const second = is('granted', await one.claim());
      expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
      expect((await on.stored(semaphore)).numbers.used).toBe('5');
    });

    it('lets shared holders of a lock in together and keeps exclusive ones out', async () => {
      const lock = on.resource();
      const readers = [
        await on.request('s1', lock, { mode: 'shared' }),
        await on.request('s2', lock, { mode: 'shared' }),
      ];
      for (const reader of readers) is('granted', await reader.try());
      const writer = await on.request('s1', lock);
      is('waiting', await writer.queue());
      // The queue is one for both, so a stream of readers does not starve the writer.
      is('refused', await (await on.request('s1', lock, { mode: 'shared' })).try());
      for (const reader of readers) await reader.release(reader.secret);
      is('granted', await writer.claim());
    });
  });

  describe('fencing tokens', () => {
    it('rise strictly though the clock stands below the last of them', async () => {
      const lock = on.resource();
      const first = is('granted', await (await on.request('s1', lock, { ttlMs: 5000 })).try());
      const ahead = first.fencingToken + 3_600_000_000n;
      await on.redis.command('HSET', on.key(lock, 'state'), 'token', String(ahead));
      await on.passInUse(lock, 5001);
      expect(is('granted', await (await on.request('s1', lock)).try()).fencingToken).toBe(ahead + 1n);
    });

    it('are exact up to the last that a double holds', async () => {
      const lock = on.resource();
      await (await on.request('s1', lock, { ttlMs: 5000 })).try();
      await on.redis.command('HSET', on.key(lock, 'state'), 'token', String(2n ** 53n - 4n));
      for (const expected of [2n ** 53n - 3n, 2n ** 53n - 2n]) {
        await on.passInUse(lock, 5001);
        const next = await on.request('s1', lock, { ttlMs: 5000 });
        expect(is('granted', await next.try()).fencingToken).toBe(expected);
        expect(is('granted', await next.renew(next.secret)).fencingToken).toBe(expected);
        expect((await on.stored(lock)).numbers.token).toBe(String(expected));
      }
    });

    it('are unique for every shared holder', async () => {
      const lock = on.resource();
      const tokens = new Set<bigint>();
      for (let i = 0; i < 20; i += 1) {
        tokens.add(
          is('granted', await (await on.request('s1', lock, { mode: 'shared' })).try()).fencingToken,
        );
      }
      expect(tokens.size).toBe(20);
    });
  });
});
