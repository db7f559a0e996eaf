import { permitsLimit } from '../../generated/redis/scripts';
import type { Resource } from '../../src/engine/leases/lease';
import type { RevokeCursor, RevokeTarget } from '../../src/engine/leases/permits-store';
import { eventually } from '../support/eventually';
import { PermitsFixture } from '../support/permits-fixture';
import { brokenInvariants } from '../support/permits-invariants';
import { OFFERED_TTL_MS, type Requester, type RequesterOptions } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

const BATCH = 64;
const REVOKED = { kind: 'finished', cause: 'revoked' };
const ALL: RevokeTarget = { kind: 'all-holders' };
/** Where the second pass begins. */
const LATER = expect.objectContaining({ pass: 'later', requestId: '' }) as RevokeCursor;
const NO_WAITER = { kind: 'revoked', count: 0, latestEndMs: undefined, next: undefined };

describe('permits-revoke', () => {
  let fixture: PermitsFixture;
  beforeAll(async () => {
    fixture = await PermitsFixture.open({ frozenClock: true, commandTimeoutMs: 20_000 });
  });
  afterAll(() => fixture.close());

  async function step(
    resource: Resource,
    target: RevokeTarget,
    {
      force = false,
      after,
      by = 's3',
    }: { force?: boolean; after?: RevokeCursor | undefined; by?: string } = {},
  ) {
    return is('revoked', await (await fixture.server(by)).store.revoke(resource, { target, force, after }));
  }

  /** Runs all steps. Returns the number of revoked leases of each step, and the latest end. */
  async function revoke(
    resource: Resource,
    target: RevokeTarget,
    force = false,
    between: (next: RevokeCursor) => Promise<RevokeCursor | void> = async () => {},
  ) {
    const counts: number[] = [];
    let latestEndMs: number | undefined;
    let after: RevokeCursor | undefined;
    do {
      const reply = await step(resource, target, { force, after });
      counts.push(reply.count);
      if (reply.latestEndMs !== undefined) latestEndMs = Math.max(latestEndMs ?? 0, reply.latestEndMs);
      after = reply.next;
      if (after) after = (await between(after)) ?? after;
    } while (after);
    return { counts, latestEndMs };
  }

  async function held(options: RequesterOptions = {}) {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 10_000, ...options });
    const { fencingToken } = is('granted', await alice.try());
    return { lock, alice, byToken: { kind: 'token', fencingToken } as const };
  }

  async function holders(count: number, options: RequesterOptions = {}) {
    const semaphore = fixture.resource('semaphore');
    const all = await fixture.requests(count, 's1', semaphore, {
      initialLimit: 20_000,
      ttlMs: 20_000,
      ...options,
    });
    for (const one of all) is('granted', await one.try());
    return { semaphore, all };
  }

  const recordOf = async ({ resource, requestId }: Requester) =>
    (await fixture.stored(resource)).records[requestId];
  const endMs = async (): Promise<number> => Number(await fixture.now()) / 1000 + 10_000;

  describe('without force', () => {
    it('keeps the permits of a lease to its end, which no command moves, and then grants the next waiter', async () => {
      const { lock, alice, byToken } = await held();
      const bob = await fixture.request('s1', lock);
      await bob.queue();
      expect(await step(lock, byToken)).toEqual({ ...NO_WAITER, count: 1, latestEndMs: await endMs() });
      await fixture.passInUse(lock, 5000);
      expect(await alice.renew(alice.secret, 60_000)).toEqual(REVOKED);
      expect(await alice.takeOver(alice.secret)).toEqual(REVOKED);
      const again = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      expect(await again.queue()).toEqual(REVOKED);
      expect((await fixture.stored(lock)).sets.ends[0]?.score).toBe(Number(await fixture.now()) + 5_000_000);
      await fixture.passInUse(lock, 4999);
      expect((await bob.touch()).waiters).toEqual([1]);
      await fixture.passInUse(lock, 1);
      is('granted', await bob.claim());
      // The tombstone keeps the cause, and nothing grants to the request again.
      expect(await alice.renew(alice.secret)).toEqual(REVOKED);
      expect(await alice.release(alice.secret)).toEqual(REVOKED);
      expect(await again.queue()).toEqual(REVOKED);
      expect(await recordOf(alice)).not.toHaveProperty('fencingToken');
    });

    it('lets the holder release the lease earlier, and then grants the next waiter', async () => {
      const { lock, alice, byToken } = await held();
      const bob = await fixture.request('s1', lock);
      await bob.queue();
      await step(lock, byToken);
      is('released', await alice.release(alice.secret));
      expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
      is('granted', await bob.claim());
    });

    it('is shown in views, and answers a repeated call as the first call', async () => {
      const { lock, byToken } = await held();
      const first = await step(lock, byToken);
      expect(await step(lock, byToken)).toEqual(first);
      expect(await step(lock, ALL)).toEqual(first);
      const view = await (await fixture.server('s1')).store.inspect(lock);
      expect(view).toMatchObject({ holderCount: 1, holders: [{ revoked: true }] });
    });

    it('sends a hint to the server of a stream, also when repeated, and no hint about a unary holder', async () => {
      const { lock, alice, byToken } = await held({ stream: true });
      const s1 = await fixture.server('s1');
      await fixture.listen(s1);
      await step(lock, byToken);
      await eventually('the hint', () => s1.hinted.includes(alice.requestId));
      s1.rechecks = [];
      await step(lock, byToken, { by: 's1' });
      expect(s1.rechecks).toEqual([alice.requestId]);
      expect(await alice.keepAlive(alice.secret)).toEqual(REVOKED);
      const unary = await held();
      await step(unary.lock, unary.byToken, { by: 's1' });
      expect(s1.rechecks).toEqual([alice.requestId]);
    });

    it('answers SUPERSEDED to a stream that no longer speaks for the lease', async () => {
      const { lock, alice, byToken } = await held({ stream: true });
      const newer = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      await step(lock, byToken);
      is('superseded', await alice.keepAlive(alice.secret));
      expect(await newer.keepAlive(alice.secret)).toEqual(REVOKED);
      is('superseded', await alice.releaseAfterLoss(alice.secret));
    });

    it('keeps the cause if a stream releases its lost lease late', async () => {
      const { lock, alice, byToken } = await held({ stream: true });
      await step(lock, byToken);
      is('released', await alice.releaseAfterLoss(alice.secret));
      expect(await alice.renew(alice.secret)).toEqual(REVOKED);
    });

    it('answers MISMATCH to the request with another holder_id', async () => {
      const { lock, alice, byToken } = await held();
      await step(lock, byToken);
      const other = await fixture.request('s1', lock, { requestId: alice.requestId, holderId: 'other' });
      is('mismatch', await other.try());
    });
  });

  describe('with force', () => {
    it('ends the lease, and grants the next waiter in the same script', async () => {
      const { lock, alice, byToken } = await held({ stream: true });
      const bob = await fixture.request('s3', lock);
      await bob.queue();
      const s3 = await fixture.server('s3');
      s3.grants = [];
      expect(await step(lock, byToken, { force: true })).toEqual({ ...NO_WAITER, count: 1 });
      expect(s3.grants).toMatchObject([{ call: { requestId: bob.requestId } }]);
      expect(await alice.keepAlive(alice.secret)).toEqual(REVOKED);
      expect(await alice.release(alice.secret)).toEqual(REVOKED);
      expect(await alice.queue()).toEqual(REVOKED);
      expect(await step(lock, byToken, { force: true })).toEqual(NO_WAITER);
      expect(brokenInvariants(await fixture.stored(lock))).toEqual([]);
    });

    it('ends a lease that was revoked without force', async () => {
      const { lock, byToken } = await held();
      await step(lock, byToken);
      expect(await step(lock, byToken, { force: true })).toEqual({ ...NO_WAITER, count: 1 });
      is('granted', await (await fixture.request('s1', lock)).try());
    });
  });

  describe('of an offer', () => {
    async function offered() {
      const { lock, alice } = await held();
      const bob = await fixture.request('s1', lock, { ttlMs: OFFERED_TTL_MS });
      const carol = await fixture.request('s1', lock, { ttlMs: OFFERED_TTL_MS });
      for (const waiter of [bob, carol]) await waiter.queue();
      is('released', await alice.release(alice.secret));
      const [shown] = (await (await fixture.server('s1')).store.inspect(lock)).holders;
      return { lock, bob, carol, fencingToken: shown?.fencingToken ?? 0n };
    }

    it.each([true, false])('takes its permits back, and ends its request (force: %p)', async (force) => {
      const { lock, bob, carol, fencingToken } = await offered();
      const s1 = await fixture.server('s1');
      s1.rechecks = [];
      expect(await step(lock, { kind: 'token', fencingToken }, { force, by: 's1' })).toEqual({
        ...NO_WAITER,
        count: 1,
      });
      expect(s1.rechecks).toEqual([bob.requestId, carol.requestId]);
      expect(await bob.claim()).toEqual(REVOKED);
      expect(await bob.withdraw()).toEqual(REVOKED);
      expect(await bob.giveBack()).toEqual(REVOKED);
      expect((await bob.touch()).waiters).toEqual(['recheck']);
      const again = await fixture.request('s2', lock, { requestId: bob.requestId });
      expect(await again.queue()).toEqual(REVOKED);
      is('granted', await carol.claim());
      expect(brokenInvariants(await fixture.stored(lock))).toEqual([]);
    });

    it('keeps its request out of the queue, also after its tombstone is forgotten', async () => {
      const { lock, bob, carol, fencingToken } = await offered();
      await step(lock, { kind: 'token', fencingToken });
      is('granted', await carol.claim());
      await fixture.passInUse(lock, 60_001);
      expect(await bob.claim()).toEqual(REVOKED);
    });

    it('belongs to all holders, but the offer that follows does not', async () => {
      const { lock, bob, carol } = await offered();
      expect(await step(lock, ALL)).toEqual({ ...NO_WAITER, count: 1 });
      expect(await bob.claim()).toEqual(REVOKED);
      is('granted', await carol.claim());
    });

    it('leaves an offer with another token alone', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 2);
      const holder = await fixture.request('s1', semaphore, { permits: 2 });
      is('granted', await holder.try());
      const [bob, carol] = (await fixture.requests(2, 's1', semaphore, { ttlMs: OFFERED_TTL_MS })) as [
        Requester,
        Requester,
      ];
      for (const waiter of [bob, carol]) await waiter.queue();
      is('released', await holder.release(holder.secret));
      const fencingToken = BigInt((await recordOf(carol))?.fencingToken ?? 0);
      expect((await step(semaphore, { kind: 'token', fencingToken })).count).toBe(1);
      expect(await carol.claim()).toEqual(REVOKED);
      is('granted', await bob.claim());
    });

    it('waits for the end of a limit change that takes offers back', async () => {
      const semaphore = fixture.resource('semaphore');
      const limit = 201;
      await fixture.setLimit(semaphore, limit);
      const [holder, big] = [
        await fixture.request('s1', semaphore),
        await fixture.request('s1', semaphore, { permits: limit - 1 }),
      ];
      for (const one of [holder, big]) is('granted', await one.try());
      const waiters = await fixture.requests(limit - 1, 's1', semaphore, { ttlMs: OFFERED_TTL_MS });
      for (const waiter of waiters) is('waiting', await waiter.queue());
      await big.release(big.secret);
      await fixture.finishBatches(semaphore, async () => undefined);
      expect(await fixture.step(permitsLimit, semaphore, 1, '', 16, 3_600_000)).toBe('SET');
      expect((await fixture.stored(semaphore)).sets.offers.length).toBeGreaterThan(BATCH);
      expect((await step(semaphore, ALL)).count).toBe(1);
      expect(await fixture.idsIn(semaphore, 'queue')).toHaveLength(limit - 1);
    });

    it('stops after a batch of offers, and the next step goes on with the rest and with the leases', async () => {
      const semaphore = fixture.resource('semaphore');
      const limit = 200;
      await fixture.setLimit(semaphore, limit);
      const [holder, big] = await fixture.requests(2, 's1', semaphore, { permits: limit / 2 });
      for (const one of [holder, big]) is('granted', await (one as Requester).try());
      const waiters = await fixture.requests(limit / 2, 's1', semaphore, { ttlMs: OFFERED_TTL_MS });
      for (const waiter of waiters) is('waiting', await waiter.queue());
      await (big as Requester).release((big as Requester).secret);
      await fixture.finishBatches(semaphore, async () => undefined);
      expect(await fixture.idsIn(semaphore, 'offers')).toHaveLength(limit / 2);
      const { counts, latestEndMs } = await revoke(semaphore, ALL);
      expect(counts).toEqual([BATCH, limit / 2 - BATCH + 1, 0]);
      expect(latestEndMs).toBeDefined();
      expect((await fixture.stored(semaphore)).numbers).toMatchObject({
        offers: '0',
        used: String(limit / 2),
      });
    });
  });

  describe('of a lease that no client was told of', () => {
    /** Bob got a direct grant, and the reply with the grant was lost. */
    async function unheard(options: RequesterOptions = {}) {
      const { lock, alice } = await held();
      const bob = await fixture.request('s1', lock, { ttlMs: 10_000, ...options });
      await bob.queue();
      const s1 = await fixture.server('s1');
      s1.grants = [];
      is('released', await alice.release(alice.secret));
      const fencingToken = s1.grants[0]?.grant.fencingToken ?? 0n;
      return { lock, bob, s1, fencingToken, byToken: { kind: 'token', fencingToken } as const };
    }

    it('asks its server to recheck, names the token to its call, and frees the permits by its return', async () => {
      const { lock, bob, s1, fencingToken, byToken } = await unheard();
      s1.rechecks = [];
      await step(lock, byToken, { by: 's1' });
      expect(s1.rechecks).toEqual([bob.requestId]);
      for (const reply of [await bob.claim(), await bob.withdraw(), await bob.queue()])
        expect(reply).toEqual({ ...REVOKED, returnable: fencingToken });
      const carol = await fixture.request('s1', lock);
      await carol.queue();
      s1.grants = [];
      expect(await bob.giveBack(fencingToken)).toEqual(REVOKED);
      expect(s1.grants).toMatchObject([{ call: { requestId: carol.requestId } }]);
      expect(await bob.claim()).toEqual(REVOKED);
      expect(brokenInvariants(await fixture.stored(lock))).toEqual([]);
    });

    it('frees the permits if the call has ended', async () => {
      const { lock, bob, fencingToken, byToken } = await unheard();
      await step(lock, byToken);
      expect(await bob.giveBackUnheard(fencingToken)).toEqual(REVOKED);
      is('granted', await (await fixture.request('s1', lock)).try());
    });

    it('keeps the permits if the return names another token', async () => {
      const { lock, bob, fencingToken, byToken } = await unheard();
      await step(lock, byToken);
      expect(await bob.giveBack(fencingToken + 1n)).toEqual({ ...REVOKED, returnable: fencingToken });
      is('refused', await (await fixture.request('s1', lock)).try());
    });

    it('keeps the permits if another call was answered with the lease', async () => {
      const { lock, bob, fencingToken, byToken } = await unheard();
      const repeated = await fixture.request('s2', lock, { requestId: bob.requestId });
      is('granted', await repeated.try());
      await step(lock, byToken);
      expect(await bob.claim()).toEqual(REVOKED);
      expect(await bob.withdraw()).toEqual(REVOKED);
      is('kept', await bob.giveBack(fencingToken));
      is('refused', await (await fixture.request('s1', lock)).try());
      await fixture.passInUse(lock, 10_001);
      expect(await bob.claim()).toEqual(REVOKED);
    });

    it('keeps the permits if the call has taken over a lease that another call was answered with', async () => {
      const { lock, alice, byToken } = await held();
      const newer = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.queue());
      await step(lock, byToken);
      for (const reply of [await newer.queue(), await newer.claim(), await newer.withdraw()])
        expect(reply).toEqual(REVOKED);
      is('kept', await newer.giveBack(byToken.fencingToken));
      is('refused', await (await fixture.request('s1', lock)).try());
    });

    it.each([true, false])(
      'keeps its request out of the queue, also after its tombstone is forgotten (force: %p)',
      async (force) => {
        const { lock, bob, byToken } = await unheard();
        await step(lock, byToken, { force });
        await fixture.passInUse(lock, 10_001);
        expect((await bob.touch()).waiters).toEqual(['recheck']);
        await fixture.passInUse(lock, 60_001);
        expect(await bob.claim()).toEqual(REVOKED);
      },
    );

    it('remembers no ticket of a lease that a command of its call was answered with', async () => {
      const { lock, byToken } = await held();
      await step(lock, byToken);
      expect(await fixture.redis.command('EXISTS', fixture.key(lock, 'revoked'))).toBe('0');
    });

    it.each([true, false])('leaves a tombstone without a token (force: %p)', async (force) => {
      const { lock, bob, byToken } = await unheard();
      await step(lock, byToken, { force });
      await fixture.passInUse(lock, 10_001);
      expect(await bob.claim()).toEqual(REVOKED);
      expect(await bob.giveBack()).toEqual(REVOKED);
      expect(await bob.claim()).toEqual(REVOKED);
    });
  });

  describe('of a waiter', () => {
    /** A lock with waiters that entered the queue one after the other, also by the frozen clock. */
    async function queue(count: number) {
      const { lock } = await held({ ttlMs: 60_000 });
      const waiters = await fixture.requests(count, 's1', lock, { ttlMs: OFFERED_TTL_MS });
      const now = Number(await fixture.now());
      for (const [i, one] of waiters.entries()) {
        is('waiting', await one.queue());
        await fixture.setQueuedAt(one, now + i);
      }
      return { lock, waiters };
    }

    const enqueued = async (one: Requester) => BigInt((await recordOf(one))?.queuedAt ?? 0);

    it('takes the waiter out of the queue, tells its server, and ends its request', async () => {
      const { lock, waiters } = await queue(3);
      const one = waiters[1] as Requester;
      const enqueueTimeUs = await enqueued(one);
      const s1 = await fixture.server('s1');
      s1.rechecks = [];
      const target = { kind: 'waiter', position: 2, enqueueTimeUs } as const;
      expect(await step(lock, target, { by: 's1', force: true })).toEqual({ ...NO_WAITER, count: 1 });
      expect(s1.rechecks).toEqual([one.requestId]);
      expect((await one.touch()).waiters).toEqual(['recheck']);
      expect(await one.claim()).toEqual(REVOKED);
      expect(await one.withdraw()).toEqual(REVOKED);
      expect(await (await fixture.request('s2', lock, { requestId: one.requestId })).queue()).toEqual(
        REVOKED,
      );
      expect(await step(lock, target)).toEqual(NO_WAITER);
      const stored = await fixture.stored(lock);
      expect(stored.sets.queue.map(({ id }) => id)).toEqual([waiters[0]?.requestId, waiters[2]?.requestId]);
      expect(brokenInvariants(stored)).toEqual([]);
    });

    it('finds the waiter up to 64 places before and behind its position', async () => {
      const { lock, waiters } = await queue(140);
      const [first, second, last] = [waiters[0], waiters[1], waiters[139]] as [
        Requester,
        Requester,
        Requester,
      ];
      const revokeAt = async (position: number, one: Requester) =>
        (await step(lock, { kind: 'waiter', position, enqueueTimeUs: await enqueued(one) })).count;
      expect(await revokeAt(66, first)).toBe(0);
      expect(await revokeAt(75, last)).toBe(0);
      expect(await revokeAt(76, last)).toBe(1);
      expect(await revokeAt(65, first)).toBe(1);
      const target = { kind: 'waiter', position: 1, enqueueTimeUs: (await enqueued(second)) + 200n } as const;
      expect(await step(lock, target)).toEqual(NO_WAITER);
      for (const one of [first, last]) expect(await one.claim()).toEqual(REVOKED);
      is('waiting', await second.claim());
    });

    it('finds the waiter that GetLock has shown, after the request ahead has connected again', async () => {
      const { lock, waiters } = await queue(2);
      const [ahead, one] = waiters as [Requester, Requester];
      is('withdrawn', await ahead.giveBack());
      const [shown] = (await (await fixture.server('s1')).store.inspect(lock)).waiters;
      expect(shown?.position).toBe(1);
      is('waiting', await ahead.claim());
      const enqueueTimeUs = BigInt(Math.round((shown?.enqueueTimeMs ?? 0) * 1000));
      expect((await step(lock, { kind: 'waiter', position: 1, enqueueTimeUs })).count).toBe(1);
      expect(await one.claim()).toEqual(REVOKED);
    });

    it('leaves a tombstone that only the secret and the identity of the waiter prove', async () => {
      const { lock } = await held({ ttlMs: 60_000 });
      const one = await fixture.request('s1', lock, { identity: 'alice' });
      await one.queue();
      await step(lock, { kind: 'waiter', position: 1, enqueueTimeUs: await enqueued(one) });
      const { requestId, secret } = one;
      expect(await one.renew(secret)).toEqual(REVOKED);
      is('gone', await one.renew('another secret'));
      const { store } = await fixture.server('s1');
      const ofOther = { requestId, secret, identity: 'bob', afterLoss: undefined };
      is('gone', await store.release(lock, ofOther));
    });

    it('keeps the waiter out of the queue, also after its tombstone is forgotten', async () => {
      const { lock, waiters } = await queue(3);
      const [one, other] = [waiters[1], waiters[2]] as [Requester, Requester];
      await step(lock, { kind: 'waiter', position: 2, enqueueTimeUs: await enqueued(one) });
      await fixture.redis.command('HDEL', fixture.key(lock, 'state'), `r${other.requestId}`);
      await fixture.passInUse(lock, 60_001);
      for (let i = 0; i < 2; i += 1) {
        expect((await one.touch()).waiters).toEqual(['recheck']);
        expect(await one.claim()).toEqual(REVOKED);
      }
      expect(await recordOf(one)).toBeUndefined();
      // Another request that Redis has lost is queued again.
      is('waiting', await other.claim());
      // A new call with the same request id has a new ticket.
      const again = await fixture.request('s2', lock, { requestId: one.requestId });
      is('waiting', await again.queue());
      await fixture.redis.command('HDEL', fixture.key(lock, 'state'), `r${one.requestId}`);
      is('waiting', await again.claim());
    });

    it('is remembered for two hours, and for the last 10,000 requests of a name', async () => {
      const { lock, waiters } = await queue(2);
      const [one, other] = waiters as [Requester, Requester];
      const key = fixture.key(lock, 'revoked');
      const addOld = `for i = 1, 10000 do redis.call('ZADD', KEYS[1], i, i) end`;
      await fixture.redis.command('EVAL', addOld, 1, key);
      await step(lock, { kind: 'waiter', position: 1, enqueueTimeUs: await enqueued(one) });
      expect(await fixture.redis.command('ZCARD', key)).toBe('10000');
      expect(await fixture.redis.command('ZSCORE', key, one.ticket)).toBe(await fixture.now());
      expect(Number(await fixture.redis.command('PEXPIRETIME', key))).toBe(
        Math.floor(Number(await fixture.now()) / 1000) + 7_200_000,
      );
      expect(await fixture.redis.command('ZSCORE', key, other.ticket)).toBeNull();
    });

    it('takes the waiter nearest to the position if two waiters have the same enqueue time', async () => {
      const { lock } = await held({ ttlMs: 60_000 });
      const same = await fixture.requests(3, 's1', lock);
      for (const one of same) await one.queue();
      const [first, second, third] = same as [Requester, Requester, Requester];
      await step(lock, { kind: 'waiter', position: 2, enqueueTimeUs: await enqueued(first) });
      expect(await second.claim()).toEqual(REVOKED);
      is('waiting', await first.claim());
      is('waiting', await third.claim());
    });

    it('grants the waiter behind, if the revoked waiter did not fit', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 3);
      const [small, big, next] = [
        await fixture.request('s1', semaphore, { permits: 2 }),
        await fixture.request('s1', semaphore, { permits: 2 }),
        await fixture.request('s1', semaphore),
      ];
      is('granted', await small.try());
      for (const waiter of [big, next]) is('waiting', await waiter.queue());
      await step(semaphore, { kind: 'waiter', position: 1, enqueueTimeUs: await enqueued(big) });
      is('granted', await next.claim());
      expect((await fixture.stored(semaphore)).numbers.used).toBe('3');
    });

    it('leaves holders, offers and detached requests with this time alone', async () => {
      const { lock, alice } = await held();
      const bob = await fixture.request('s1', lock);
      await bob.queue();
      await bob.giveBack();
      const enqueueTimeUs = await enqueued(alice);
      expect(await enqueued(bob)).toBe(enqueueTimeUs);
      expect(await step(lock, { kind: 'waiter', position: 1, enqueueTimeUs })).toEqual(NO_WAITER);
      expect(await recordOf(bob)).toMatchObject({ state: 'detached' });
    });
  });

  describe('of many leases', () => {
    it('answers the latest end', async () => {
      const semaphore = fixture.resource('semaphore');
      for (const ttlMs of [5000, 20_000, 10_000])
        is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 3, ttlMs })).try());
      const latestEndMs = Number(await fixture.now()) / 1000 + 20_000;
      expect(await step(semaphore, ALL)).toMatchObject({ count: 3, latestEndMs });
    });

    it('counts no lease of an earlier step again after the leases have moved into the head', async () => {
      const { semaphore, all: early } = await holders(60);
      const late = await fixture.requests(24, 's1', semaphore, { ttlMs: 30_000 });
      for (const one of late) is('granted', await one.try());
      const { next } = await step(semaphore, ALL);
      const isBehind = ({ requestId }: Requester) => requestId > (next?.requestId ?? '');
      const kept = [...early.filter(isBehind).slice(0, 4), ...late.filter(isBehind).slice(0, 4)];
      for (const one of [...early, ...late])
        if (!kept.includes(one)) is('released', await one.release(one.secret));
      expect((await fixture.stored(semaphore)).numbers.isSpilled).toBe('0');
      expect(await step(semaphore, ALL, { after: next })).toMatchObject({ count: 4, next: LATER });
    });

    it('revokes 64 leases in each step, and counts each lease once, although all end at the same time', async () => {
      const { semaphore } = await holders(200);
      const end = Number(await fixture.now()) / 1000 + 20_000;
      const first = await revoke(semaphore, ALL);
      // The second pass finds no other lease.
      expect(first).toEqual({ counts: [BATCH, BATCH, BATCH, 8, 0, 0, 0, 0], latestEndMs: end });
      expect(await revoke(semaphore, ALL)).toEqual(first);
      const records = Object.values((await fixture.stored(semaphore)).records);
      expect(records.filter(({ revoked }) => revoked === '1')).toHaveLength(200);
    });

    it.each([true, false])(
      'leaves leases alone that are granted between steps (force: %p)',
      async (force) => {
        const { semaphore } = await holders(100);
        await fixture.passInUse(semaphore, 1); // a later token
        const later: Requester[] = [];
        const { counts } = await revoke(semaphore, ALL, force, async () => {
          const one = await fixture.request('s1', semaphore, { ttlMs: 30_000 });
          is('granted', await one.try());
          later.push(one);
        });
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(100);
        for (const one of later) is('granted', await one.renew(one.secret));
        expect(await fixture.idsIn(semaphore, 'ends')).toHaveLength(
          force ? later.length : 100 + later.length,
        );
      },
    );

    /** The test moves stored times, and not the clock. So the end in the cursor moves too. */
    const setBack = async (semaphore: Resource, next: RevokeCursor): Promise<RevokeCursor> => {
      await fixture.pass(semaphore, -3_600_000);
      return { ...next, endUs: String(Number(next.endUs) + 3_600_000_000) };
    };

    it.each([
      [true, 1],
      [false, 1],
      [false, 2],
    ])(
      "misses no lease if Redis's clock is set back between steps (force: %p, after step %p)",
      async (force, steps) => {
        const { semaphore, all } = await holders(200);
        // With force, a later pass also counts leases that were revoked without force before.
        if (force) await revoke(semaphore, ALL);
        let left = steps;
        const { counts } = await revoke(semaphore, ALL, force, async (next) => {
          left -= 1;
          // The next script shortens leases, which then end before the last visited lease.
          return left === 0 ? setBack(semaphore, next) : next;
        });
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(200);
        for (const one of all) expect((await one.renew(one.secret)).kind).not.toBe('granted');
      },
    );

    it("finds a lease by its token although Redis's clock is set back between steps", async () => {
      const { semaphore, all } = await holders(200);
      const last = [...all].sort((a, b) => (a.requestId < b.requestId ? -1 : 1)).at(-1) as Requester;
      let isSetBack = false;
      const target = { kind: 'token', fencingToken: last.token as bigint } as const;
      const { counts } = await revoke(semaphore, target, false, async (next) => {
        if (isSetBack) return next;
        isSetBack = true;
        // A later pass counts this lease too, although the lease was revoked before.
        await step(semaphore, { ...target, kind: 'lease', requestId: last.requestId });
        return setBack(semaphore, next);
      });
      expect(counts.at(-1)).toBe(1);
      expect(counts.length).toBeGreaterThan(4);
    });

    it('counts the leases of all steps that were revoked before', async () => {
      const { semaphore, all } = await holders(200);
      for (const one of all.slice(0, 100)) {
        const { requestId, token = 0n } = one;
        expect((await step(semaphore, { kind: 'lease', requestId, fencingToken: token })).count).toBe(1);
      }
      expect((await revoke(semaphore, ALL)).counts).toEqual([BATCH, BATCH, BATCH, 8, 0, 0, 0, 0]);
    });

    it('visits the leases again until a pass finds no other lease', async () => {
      const { semaphore, all } = await holders(70);
      const { next } = await step(semaphore, ALL);
      const second = await step(semaphore, ALL, { after: next });
      expect(second).toMatchObject({ count: 6, next: LATER });
      // A failover has undone the revocation of a lease: the model is an edit of its record.
      const [lost] = [...all].sort((a, b) => (a.requestId < b.requestId ? -1 : 1)) as [Requester];
      const edit = `
        local record = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))
        record.v = nil
        redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(record))`;
      await fixture.redis.command('EVAL', edit, 1, fixture.key(semaphore, 'state'), `r${lost.requestId}`);
      const third = await step(semaphore, ALL, { after: second.next });
      expect(third).toMatchObject({ count: 1, next: { pass: 'found' } });
      const fourth = await step(semaphore, ALL, { after: third.next });
      expect(fourth).toMatchObject({ count: 0, next: LATER });
      const fifth = await step(semaphore, ALL, { after: fourth.next });
      expect(fifth).toMatchObject({ count: 0, next: { pass: 'later' } });
      expect(await step(semaphore, ALL, { after: fifth.next })).toEqual({
        ...NO_WAITER,
        latestEndMs: expect.any(Number),
      });
    });

    it('misses no lease that is renewed between steps', async () => {
      const { semaphore, all } = await holders(150);
      let ttlMs = 20_000;
      const { counts } = await revoke(semaphore, ALL, false, async () => {
        // The leases that are not revoked yet move behind all others.
        ttlMs += 10;
        for (const one of all) await one.renew(one.secret, ttlMs);
      });
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(150);
    });

    it('goes on if the lease of the last step has ended, or if the leases have moved into the head', async () => {
      const { semaphore, all } = await holders(BATCH + 20);
      const { next } = await step(semaphore, ALL);
      const visited = all.find(({ requestId }) => requestId === next?.requestId) as Requester;
      is('released', await visited.release(visited.secret));
      const records = (await fixture.stored(semaphore)).records;
      const left = all.filter(
        ({ requestId }) => records[requestId]?.revoked !== '1' && requestId !== visited.requestId,
      );
      expect(left).toHaveLength(20);
      // Eight leases return to the head: four are revoked, and four are not.
      const kept = left.slice(0, 4);
      const others = all.filter((one) => !left.includes(one) && one !== visited).slice(0, 4);
      for (const one of all)
        if (![...kept, ...others, visited].includes(one)) is('released', await one.release(one.secret));
      expect((await fixture.stored(semaphore)).numbers.isSpilled).toBe('0');
      expect(await step(semaphore, ALL, { after: next })).toMatchObject({ count: 4, next: LATER });
    });

    it('ends all leases with force, in steps of 64', async () => {
      const { semaphore } = await holders(150);
      expect(await revoke(semaphore, ALL, true)).toEqual({
        counts: [BATCH, BATCH, 22, 0],
        latestEndMs: undefined,
      });
      const stored = await fixture.stored(semaphore);
      expect(stored.sets.ends).toEqual([]);
      expect(stored.numbers.used).toBe('0');
    });

    it('finds a lease by its token among 500, in steps of 64, although the others are renewed', async () => {
      const { semaphore, all } = await holders(500);
      let ttlMs = 20_000;
      for (const wanted of [all[0], all[250], all[499]] as Requester[]) {
        const target = { kind: 'token', fencingToken: wanted.token as bigint } as const;
        const { counts } = await revoke(semaphore, target, false, async () => {
          ttlMs += 10;
          for (const one of all.slice(0, 20)) await one.renew(one.secret, ttlMs);
        });
        expect(counts.at(-1)).toBe(1);
        expect(counts.slice(0, -1).every((count) => count === 0)).toBe(true);
        expect(await wanted.renew(wanted.secret)).toEqual(REVOKED);
      }
      const unknown = await revoke(semaphore, { kind: 'token', fencingToken: 1n });
      expect(unknown.counts).toEqual(Array.from({ length: 16 }, () => 0));
      const revoked = Object.values((await fixture.stored(semaphore)).records).filter((one) => one.revoked);
      expect(revoked).toHaveLength(3);
    });
  });

  describe('of the lease of one request', () => {
    const leaseOf = ({ requestId, token = 0n }: Requester) =>
      ({ kind: 'lease', requestId, fencingToken: token }) as const;

    it('finds the lease among 200 in one step', async () => {
      const { semaphore, all } = await holders(200);
      for (const one of [all[0], all[199]] as Requester[]) {
        const reply = await step(semaphore, leaseOf(one));
        expect(reply).toEqual({ ...NO_WAITER, count: 1, latestEndMs: expect.any(Number) });
        expect(await step(semaphore, leaseOf(one))).toEqual(reply);
        expect(await one.renew(one.secret)).toEqual(REVOKED);
      }
      expect((await step(semaphore, ALL)).count).toBe(BATCH);
    });

    it('leaves a lease with another token alone, an expired lease, and a waiting request', async () => {
      const { lock, alice } = await held();
      const bob = await fixture.request('s1', lock);
      await bob.queue();
      const target = leaseOf(alice);
      expect(await step(lock, { ...target, fencingToken: target.fencingToken + 1n })).toEqual(NO_WAITER);
      expect(await step(lock, leaseOf(bob))).toEqual(NO_WAITER);
      expect(await step(lock, { ...target, requestId: bob.requestId })).toEqual(NO_WAITER);
      is('granted', await alice.renew(alice.secret));
      await fixture.passInUse(lock, 30_000);
      expect(await step(lock, target)).toEqual(NO_WAITER);
    });
  });

  it('finds nothing by an unknown token, and nothing of an unused lock', async () => {
    const { lock, alice, byToken } = await held();
    for (const fencingToken of [byToken.fencingToken - 1n, byToken.fencingToken + 1n, 2n ** 63n - 1n])
      expect(await step(lock, { kind: 'token', fencingToken })).toEqual(NO_WAITER);
    is('granted', await alice.renew(alice.secret));
    const { store } = await fixture.server('s1');
    const unused = fixture.resource();
    for (const service of ['lock', 'semaphore'] as const) {
      const resource = { ...unused, service };
      expect(await store.revoke(resource, { target: ALL, force: true, after: undefined })).toEqual({
        kind: 'unknown-resource',
      });
      expect(await fixture.redis.command('EXISTS', fixture.key(resource, 'state'))).toBe('0');
    }
  });

  it('leaves expired leases out, even if more have expired than one script purges', async () => {
    const { semaphore } = await holders(100, { ttlMs: 5000 });
    const alive = await fixture.requests(30, 's1', semaphore, { ttlMs: 20_000 });
    for (const one of alive) is('granted', await one.try());
    await fixture.passInUse(semaphore, 5000);
    const { counts } = await revoke(semaphore, ALL);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(30);
  });

  it('grants to waiters of an expired lease, also if it finds nothing', async () => {
    const { lock } = await held();
    const bob = await fixture.request('s3', lock);
    await bob.queue();
    await fixture.passInUse(lock, 10_000);
    const s3 = await fixture.server('s3');
    s3.grants = [];
    expect(await step(lock, { kind: 'token', fencingToken: 1n })).toEqual(NO_WAITER);
    expect(s3.grants).toHaveLength(1);
  });

  it.each([
    ['an acquire', (one: Requester) => one.queue()],
    ['a claim', (one: Requester) => one.claim()],
    ['a withdrawal', (one: Requester) => one.withdraw()],
    ['a return', (one: Requester) => one.giveBack(one.token)],
  ])('lets %s of a revoked request grant permits that are free', async (_, act) => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const revoked = await fixture.request('s1', semaphore, { ttlMs: 20_000 });
    const other = await fixture.request('s1', semaphore, { ttlMs: 5000 });
    for (const one of [revoked, other]) is('granted', await one.try());
    const waiter = await fixture.request('s1', semaphore);
    await waiter.queue();
    await fixture.revoke(revoked);
    await fixture.passInUse(semaphore, 5000);
    const s1 = await fixture.server('s1');
    s1.grants = [];
    is('finished', await act(revoked));
    expect(s1.grants).toMatchObject([{ call: { requestId: waiter.requestId } }]);
  });

  it('skips leases and waiters whose record was deleted manually', async () => {
    const { semaphore, all } = await holders(3);
    const [first] = all as [Requester];
    await fixture.redis.command('HDEL', fixture.key(semaphore, 'state'), `r${first.requestId}`);
    expect((await step(semaphore, ALL)).count).toBe(2);
    const { lock } = await held();
    await fixture.addGhost(lock, 'queue', 1);
    await fixture.addGhost(lock, 'offers', Number(await fixture.now()) + 1_000_000);
    expect(await step(lock, { kind: 'waiter', position: 1, enqueueTimeUs: 0n })).toEqual(NO_WAITER);
    expect((await step(lock, ALL)).count).toBe(1);
  });
});
