import { leaseLimit } from '../../../generated/redis/scripts';
import { eventually } from '../../support/eventually';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import { OFFERED_TTL_MS, type Requester, type RequesterOptions } from '../../support/leases/lease-requester';
import { ALL, NOTHING, RevocationFixture, REVOKED } from '../../support/leases/revocation-fixture';
import { is } from '../../support/reply-kinds';

const BATCH = 64;

describe('lease-revoke of one lease', () => {
  let fixture: RevocationFixture;
  beforeAll(async () => {
    fixture = await RevocationFixture.open();
  });
  afterAll(() => fixture.close());

  describe('without force', () => {
    it('keeps the permits of a lease to its end, which no command moves, and then grants the next waiter', async () => {
      const { lock, alice, byToken } = await fixture.held();
      const bob = await fixture.permits.request('s1', lock);
      await bob.queue();
      expect(await fixture.step(lock, byToken)).toEqual({
        ...NOTHING,
        count: 1,
        latestEndMs: await fixture.endMs(),
      });
      await fixture.permits.passInUse(lock, 5000);
      expect(await alice.renew(alice.secret, 60_000)).toEqual(REVOKED);
      expect(await alice.takeOver(alice.secret)).toEqual(REVOKED);
      const again = await fixture.permits.request('s2', lock, { requestId: alice.requestId, stream: true });
      expect(await again.queue()).toEqual(REVOKED);
      expect((await fixture.permits.stored(lock)).sets.ends[0]?.score).toBe(
        Number(await fixture.permits.now()) + 5_000_000,
      );
      await fixture.permits.passInUse(lock, 4999);
      expect((await bob.touch()).waiters).toEqual([1]);
      await fixture.permits.passInUse(lock, 1);
      is('granted', await bob.claim());
      // The tombstone keeps the cause, and nothing grants to the request again.
      expect(await alice.renew(alice.secret)).toEqual(REVOKED);
      expect(await alice.release(alice.secret)).toEqual(REVOKED);
      expect(await again.queue()).toEqual(REVOKED);
      expect(await fixture.recordOf(alice)).not.toHaveProperty('fencingToken');
    });

    it('lets the holder release the lease earlier, and then grants the next waiter', async () => {
      const { lock, alice, byToken } = await fixture.held();
      const bob = await fixture.permits.request('s1', lock);
      await bob.queue();
      await fixture.step(lock, byToken);
      is('released', await alice.release(alice.secret));
      expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
      is('granted', await bob.claim());
    });

    it('is shown in views, and answers a repeated call as the first call', async () => {
      const { lock, byToken } = await fixture.held();
      const first = await fixture.step(lock, byToken);
      expect(await fixture.step(lock, byToken)).toEqual(first);
      expect(await fixture.step(lock, ALL)).toEqual(first);
      const view = await (await fixture.permits.server('s1')).store.inspect(lock);
      expect(view).toMatchObject({ holderCount: 1, holders: [{ revoked: true }] });
    });

    it('sends a hint to the server of a stream, also when repeated, and no hint about a unary holder', async () => {
      const { lock, alice, byToken } = await fixture.held({ stream: true });
      const s1 = await fixture.permits.server('s1');
      await fixture.permits.listen(s1);
      await fixture.step(lock, byToken);
      await eventually('the hint', () => s1.hinted.includes(alice.requestId));
      s1.rechecks = [];
      await fixture.step(lock, byToken, { by: 's1' });
      expect(s1.rechecks).toEqual([alice.requestId]);
      expect(await alice.keepAlive(alice.secret)).toEqual(REVOKED);
      const unary = await fixture.held();
      await fixture.step(unary.lock, unary.byToken, { by: 's1' });
      expect(s1.rechecks).toEqual([alice.requestId]);
    });

    it('answers SUPERSEDED to a stream that no longer speaks for the lease', async () => {
      const { lock, alice, byToken } = await fixture.held({ stream: true });
      const newer = await fixture.permits.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      await fixture.step(lock, byToken);
      is('superseded', await alice.keepAlive(alice.secret));
      expect(await newer.keepAlive(alice.secret)).toEqual(REVOKED);
      is('superseded', await alice.releaseAfterLoss(alice.secret));
    });

    it('keeps the cause if a stream releases its lost lease late', async () => {
      const { lock, alice, byToken } = await fixture.held({ stream: true });
      await fixture.step(lock, byToken);
      is('released', await alice.releaseAfterLoss(alice.secret));
      expect(await alice.renew(alice.secret)).toEqual(REVOKED);
    });

    it('answers MISMATCH to the request with another holder_id', async () => {
      const { lock, alice, byToken } = await fixture.held();
      await fixture.step(lock, byToken);
      const other = await fixture.permits.request('s1', lock, {
        requestId: alice.requestId,
        holderId: 'other',
      });
      is('mismatch', await other.try());
    });

    it("answers an end at most a ttl from now after Redis's clock was set back a little", async () => {
      const { lock, byToken } = await fixture.held();
      await fixture.permits.pass(lock, -90);
      const reply = await fixture.step(lock, byToken);
      expect(reply).toMatchObject({ count: 1, latestEndMs: await fixture.endMs() });
    });
  });

  describe('with force', () => {
    it('ends the lease, and grants the next waiter in the same script', async () => {
      const { lock, alice, byToken } = await fixture.held({ stream: true });
      const bob = await fixture.permits.request('s3', lock);
      await bob.queue();
      const s3 = await fixture.permits.server('s3');
      s3.grants = [];
      expect(await fixture.step(lock, byToken, { force: true })).toEqual({ ...NOTHING, count: 1 });
      expect(s3.grants).toMatchObject([{ call: { requestId: bob.requestId } }]);
      expect(await alice.keepAlive(alice.secret)).toEqual(REVOKED);
      expect(await alice.release(alice.secret)).toEqual(REVOKED);
      expect(await alice.queue()).toEqual(REVOKED);
      expect(await fixture.step(lock, byToken, { force: true })).toEqual(NOTHING);
      expect(brokenInvariants(await fixture.permits.stored(lock))).toEqual([]);
    });

    it('ends a lease that was revoked without force', async () => {
      const { lock, byToken } = await fixture.held();
      await fixture.step(lock, byToken);
      expect(await fixture.step(lock, byToken, { force: true })).toEqual({ ...NOTHING, count: 1 });
      is('granted', await (await fixture.permits.request('s1', lock)).try());
    });
  });

  describe('of an offer', () => {
    async function offered() {
      const { lock, alice } = await fixture.held();
      const bob = await fixture.permits.request('s1', lock, { ttlMs: OFFERED_TTL_MS });
      const carol = await fixture.permits.request('s1', lock, { ttlMs: OFFERED_TTL_MS });
      for (const waiter of [bob, carol]) await waiter.queue();
      is('released', await alice.release(alice.secret));
      const [shown] = (await (await fixture.permits.server('s1')).store.inspect(lock)).holders;
      return { lock, bob, carol, fencingToken: shown?.fencingToken ?? 0n };
    }

    it.each([true, false])('takes its permits back, and ends its request (force: %p)', async (force) => {
      const { lock, bob, carol, fencingToken } = await offered();
      const s1 = await fixture.permits.server('s1');
      s1.rechecks = [];
      expect(await fixture.step(lock, { kind: 'token', fencingToken }, { force, by: 's1' })).toEqual({
        ...NOTHING,
        count: 1,
      });
      expect(s1.rechecks).toEqual([bob.requestId, carol.requestId]);
      expect(await bob.claim()).toEqual(REVOKED);
      expect(await bob.withdraw()).toEqual(REVOKED);
      expect(await bob.giveBack()).toEqual(REVOKED);
      expect((await bob.touch()).waiters).toEqual(['recheck']);
      const again = await fixture.permits.request('s2', lock, { requestId: bob.requestId });
      expect(await again.queue()).toEqual(REVOKED);
      is('granted', await carol.claim());
      expect(brokenInvariants(await fixture.permits.stored(lock))).toEqual([]);
    });

    it('keeps its request out of the queue, also after its tombstone is forgotten', async () => {
      const { lock, bob, carol, fencingToken } = await offered();
      await fixture.step(lock, { kind: 'token', fencingToken });
      is('granted', await carol.claim());
      await fixture.permits.passInUse(lock, 60_001);
      expect(await bob.claim()).toEqual(REVOKED);
    });

    it('belongs to all holders, but the offer that follows does not', async () => {
      const { lock, bob, carol } = await offered();
      expect(await fixture.step(lock, ALL)).toEqual({ ...NOTHING, count: 1 });
      expect(await bob.claim()).toEqual(REVOKED);
      is('granted', await carol.claim());
    });

    it('leaves an offer with another token alone', async () => {
      const semaphore = fixture.permits.resource('semaphore');
      await fixture.permits.setLimit(semaphore, 2);
      const holder = await fixture.permits.request('s1', semaphore, { permits: 2 });
      is('granted', await holder.try());
      const [bob, carol] = (await fixture.permits.requests(2, 's1', semaphore, {
        ttlMs: OFFERED_TTL_MS,
      })) as [Requester, Requester];
      for (const waiter of [bob, carol]) await waiter.queue();
      is('released', await holder.release(holder.secret));
      const fencingToken = BigInt((await fixture.recordOf(carol))?.fencingToken ?? 0);
      expect((await fixture.step(semaphore, { kind: 'token', fencingToken })).count).toBe(1);
      expect(await carol.claim()).toEqual(REVOKED);
      is('granted', await bob.claim());
    });

    it('waits for the end of a limit change that takes offers back', async () => {
      const semaphore = fixture.permits.resource('semaphore');
      const limit = 201;
      await fixture.permits.setLimit(semaphore, limit);
      const [holder, big] = [
        await fixture.permits.request('s1', semaphore),
        await fixture.permits.request('s1', semaphore, { permits: limit - 1 }),
      ];
      for (const one of [holder, big]) is('granted', await one.try());
      const waiters = await fixture.permits.requests(limit - 1, 's1', semaphore, { ttlMs: OFFERED_TTL_MS });
      for (const waiter of waiters) is('waiting', await waiter.queue());
      await big.release(big.secret);
      await fixture.permits.finishBatches(semaphore, async () => undefined);
      expect(await fixture.permits.step(leaseLimit, semaphore, 1, '', 16)).toBe('SET');
      expect((await fixture.permits.stored(semaphore)).sets.offers.length).toBeGreaterThan(BATCH);
      expect((await fixture.step(semaphore, ALL)).count).toBe(1);
      expect(await fixture.permits.idsIn(semaphore, 'queue')).toHaveLength(limit - 1);
    });

    it('stops after a batch of offers, and the next step goes on with the rest and with the leases', async () => {
      const semaphore = fixture.permits.resource('semaphore');
      const limit = 200;
      await fixture.permits.setLimit(semaphore, limit);
      const [holder, big] = await fixture.permits.requests(2, 's1', semaphore, { permits: limit / 2 });
      for (const one of [holder, big]) is('granted', await (one as Requester).try());
      const waiters = await fixture.permits.requests(limit / 2, 's1', semaphore, { ttlMs: OFFERED_TTL_MS });
      for (const waiter of waiters) is('waiting', await waiter.queue());
      await (big as Requester).release((big as Requester).secret);
      await fixture.permits.finishBatches(semaphore, async () => undefined);
      expect(await fixture.permits.idsIn(semaphore, 'offers')).toHaveLength(limit / 2);
      const { counts, latestEndMs } = await fixture.revoke(semaphore, ALL);
      expect(counts).toEqual([BATCH, limit / 2 - BATCH + 1, 0]);
      expect(latestEndMs).toBeDefined();
      expect((await fixture.permits.stored(semaphore)).numbers).toMatchObject({
        offers: '0',
        used: String(limit / 2),
      });
    });
  });

  describe('of a lease that no client was told of', () => {
    /** Bob got a direct grant, and the reply with the grant was lost. */
    async function unheard(options: RequesterOptions = {}) {
      const { lock, alice } = await fixture.held();
      const bob = await fixture.permits.request('s1', lock, { ttlMs: 10_000, ...options });
      await bob.queue();
      const s1 = await fixture.permits.server('s1');
      s1.grants = [];
      is('released', await alice.release(alice.secret));
      const fencingToken = s1.grants[0]?.grant.fencingToken ?? 0n;
      return { lock, bob, s1, fencingToken, byToken: { kind: 'token', fencingToken } as const };
    }

    it('asks its server to recheck, names the token to its call, and frees the permits by its return', async () => {
      const { lock, bob, s1, fencingToken, byToken } = await unheard();
      s1.rechecks = [];
      await fixture.step(lock, byToken, { by: 's1' });
      expect(s1.rechecks).toEqual([bob.requestId]);
      for (const reply of [await bob.claim(), await bob.withdraw(), await bob.queue()])
        expect(reply).toEqual({ ...REVOKED, returnable: fencingToken });
      const carol = await fixture.permits.request('s1', lock);
      await carol.queue();
      s1.grants = [];
      expect(await bob.giveBack(fencingToken)).toEqual(REVOKED);
      expect(s1.grants).toMatchObject([{ call: { requestId: carol.requestId } }]);
      expect(await bob.claim()).toEqual(REVOKED);
      expect(brokenInvariants(await fixture.permits.stored(lock))).toEqual([]);
    });

    it('frees the permits if the call has ended', async () => {
      const { lock, bob, fencingToken, byToken } = await unheard();
      await fixture.step(lock, byToken);
      expect(await bob.giveBackUnheard(fencingToken)).toEqual(REVOKED);
      is('granted', await (await fixture.permits.request('s1', lock)).try());
    });

    it('keeps the permits if the return names another token', async () => {
      const { lock, bob, fencingToken, byToken } = await unheard();
      await fixture.step(lock, byToken);
      expect(await bob.giveBack(fencingToken + 1n)).toEqual({ ...REVOKED, returnable: fencingToken });
      is('refused', await (await fixture.permits.request('s1', lock)).try());
    });

    it('keeps the permits if another call was answered with the lease', async () => {
      const { lock, bob, fencingToken, byToken } = await unheard();
      const repeated = await fixture.permits.request('s2', lock, { requestId: bob.requestId });
      is('granted', await repeated.try());
      await fixture.step(lock, byToken);
      expect(await bob.claim()).toEqual(REVOKED);
      expect(await bob.withdraw()).toEqual(REVOKED);
      is('kept', await bob.giveBack(fencingToken));
      is('refused', await (await fixture.permits.request('s1', lock)).try());
      await fixture.permits.passInUse(lock, 10_001);
      expect(await bob.claim()).toEqual(REVOKED);
    });

    it('keeps the permits if the call has taken over a lease that another call was answered with', async () => {
      const { lock, alice, byToken } = await fixture.held();
      const newer = await fixture.permits.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.queue());
      await fixture.step(lock, byToken);
      for (const reply of [await newer.queue(), await newer.claim(), await newer.withdraw()])
        expect(reply).toEqual(REVOKED);
      is('kept', await newer.giveBack(byToken.fencingToken));
      is('refused', await (await fixture.permits.request('s1', lock)).try());
    });

    it.each([true, false])(
      'keeps its request out of the queue, also after its tombstone is forgotten (force: %p)',
      async (force) => {
        const { lock, bob, byToken } = await unheard();
        await fixture.step(lock, byToken, { force });
        await fixture.permits.passInUse(lock, 10_001);
        expect((await bob.touch()).waiters).toEqual(['recheck']);
        await fixture.permits.passInUse(lock, 60_001);
        expect(await bob.claim()).toEqual(REVOKED);
      },
    );

    it('remembers no ticket of a lease that a command of its call was answered with', async () => {
      const { lock, byToken } = await fixture.held();
      await fixture.step(lock, byToken);
      expect(await fixture.permits.redis.command('EXISTS', fixture.permits.key(lock, 'revoked'))).toBe('0');
    });

    it.each([true, false])('leaves a tombstone without a token (force: %p)', async (force) => {
      const { lock, bob, byToken } = await unheard();
      await fixture.step(lock, byToken, { force });
      await fixture.permits.passInUse(lock, 10_001);
      expect(await bob.claim()).toEqual(REVOKED);
      expect(await bob.giveBack()).toEqual(REVOKED);
      expect(await bob.claim()).toEqual(REVOKED);
    });
  });
});
