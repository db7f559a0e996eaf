import { LOCK_LIMIT } from '../../src/leases/lease';
import { eventually } from '../support/eventually';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { OFFERED_TTL_MS } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

describe('lease-acquire', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

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
