import { brokenInvariants } from '../support/leases/lease-invariants';
import { OFFERED_TTL_MS, type Requester } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';
import { NOTHING, REVOKED, RevocationFixture } from '../support/leases/revocation-fixture';

describe('lease-revoke of a waiter', () => {
  let fixture: RevocationFixture;
  beforeAll(async () => {
    fixture = await RevocationFixture.open();
  });
  afterAll(() => fixture.close());

  /** A lock with waiters that entered the queue one after the other, also by the frozen clock. */
  async function queue(count: number) {
    const { lock } = await fixture.held({ ttlMs: 60_000 });
    const waiters = await fixture.permits.requests(count, 's1', lock, { ttlMs: OFFERED_TTL_MS });
    const now = Number(await fixture.permits.now());
    for (const [i, one] of waiters.entries()) {
      is('waiting', await one.queue());
      await fixture.permits.setQueuedAt(one, now + i);
    }
    return { lock, waiters };
  }

  const enqueued = async (one: Requester) => BigInt((await fixture.recordOf(one))?.queuedAt ?? 0);

  it('takes the waiter out of the queue, tells its server, and ends its request', async () => {
    const { lock, waiters } = await queue(3);
    const one = waiters[1] as Requester;
    const enqueueTimeUs = await enqueued(one);
    const s1 = await fixture.permits.server('s1');
    s1.rechecks = [];
    const target = { kind: 'waiter', position: 2, enqueueTimeUs } as const;
    expect(await fixture.step(lock, target, { by: 's1', force: true })).toEqual({ ...NOTHING, count: 1 });
    expect(s1.rechecks).toEqual([one.requestId]);
    expect((await one.touch()).waiters).toEqual(['recheck']);
    expect(await one.claim()).toEqual(REVOKED);
    expect(await one.withdraw()).toEqual(REVOKED);
    expect(await (await fixture.permits.request('s2', lock, { requestId: one.requestId })).queue()).toEqual(
      REVOKED,
    );
    expect(await fixture.step(lock, target)).toEqual(NOTHING);
    const stored = await fixture.permits.stored(lock);
    expect(stored.sets.queue.map(({ id }) => id)).toEqual([waiters[0]?.requestId, waiters[2]?.requestId]);
    expect(brokenInvariants(stored)).toEqual([]);
  });

  it('finds the waiter up to 64 places before and behind its position', async () => {
    const { lock, waiters } = await queue(140);
    const [first, second, last] = [waiters[0], waiters[1], waiters[139]] as [Requester, Requester, Requester];
    const revokeAt = async (position: number, one: Requester) =>
      (await fixture.step(lock, { kind: 'waiter', position, enqueueTimeUs: await enqueued(one) })).count;
    expect(await revokeAt(66, first)).toBe(0);
    expect(await revokeAt(75, last)).toBe(0);
    expect(await revokeAt(76, last)).toBe(1);
    expect(await revokeAt(65, first)).toBe(1);
    const target = { kind: 'waiter', position: 1, enqueueTimeUs: (await enqueued(second)) + 200n } as const;
    expect(await fixture.step(lock, target)).toEqual(NOTHING);
    for (const one of [first, last]) expect(await one.claim()).toEqual(REVOKED);
    is('waiting', await second.claim());
  });

  it('finds the waiter that GetLock has shown, after the request ahead has connected again', async () => {
    const { lock, waiters } = await queue(2);
    const [ahead, one] = waiters as [Requester, Requester];
    is('withdrawn', await ahead.giveBack());
    const [shown] = (await (await fixture.permits.server('s1')).store.inspect(lock)).waiters;
    expect(shown?.position).toBe(1);
    is('waiting', await ahead.claim());
    const enqueueTimeUs = BigInt(Math.round((shown?.enqueueTimeMs ?? 0) * 1000));
    expect((await fixture.step(lock, { kind: 'waiter', position: 1, enqueueTimeUs })).count).toBe(1);
    expect(await one.claim()).toEqual(REVOKED);
  });

  it('leaves a tombstone that only the secret and the identity of the waiter prove', async () => {
    const { lock } = await fixture.held({ ttlMs: 60_000 });
    const one = await fixture.permits.request('s1', lock, { identity: 'alice' });
    await one.queue();
    await fixture.step(lock, { kind: 'waiter', position: 1, enqueueTimeUs: await enqueued(one) });
    const { requestId, secret } = one;
    expect(await one.renew(secret)).toEqual(REVOKED);
    is('gone', await one.renew('another secret'));
    const { store } = await fixture.permits.server('s1');
    const ofOther = { requestId, secret, identity: 'bob', afterLoss: undefined };
    is('gone', await store.release(lock, ofOther));
  });

  it('keeps the waiter out of the queue, also after its tombstone is forgotten', async () => {
    const { lock, waiters } = await queue(3);
    const [one, other] = [waiters[1], waiters[2]] as [Requester, Requester];
    await fixture.step(lock, { kind: 'waiter', position: 2, enqueueTimeUs: await enqueued(one) });
    await fixture.permits.redis.command('HDEL', fixture.permits.key(lock, 'state'), `r${other.requestId}`);
    await fixture.permits.passInUse(lock, 60_001);
    for (let i = 0; i < 2; i += 1) {
      expect((await one.touch()).waiters).toEqual(['recheck']);
      expect(await one.claim()).toEqual(REVOKED);
    }
    expect(await fixture.recordOf(one)).toBeUndefined();
    // Another request that Redis has lost is queued again.
    is('waiting', await other.claim());
    // A new call with the same request id has a new ticket.
    const again = await fixture.permits.request('s2', lock, { requestId: one.requestId });
    is('waiting', await again.queue());
    await fixture.permits.redis.command('HDEL', fixture.permits.key(lock, 'state'), `r${one.requestId}`);
    is('waiting', await again.claim());
  });

  it('is remembered for two hours, and for the last 10,000 requests of a name', async () => {
    const { lock, waiters } = await queue(2);
    const [one, other] = waiters as [Requester, Requester];
    const key = fixture.permits.key(lock, 'revoked');
    const addOld = `for i = 1, 10000 do redis.call('ZADD', KEYS[1], i, i) end`;
    await fixture.permits.redis.command('EVAL', addOld, 1, key);
    await fixture.step(lock, { kind: 'waiter', position: 1, enqueueTimeUs: await enqueued(one) });
    expect(await fixture.permits.redis.command('ZCARD', key)).toBe('10000');
    expect(await fixture.permits.redis.command('ZSCORE', key, one.ticket)).toBe(await fixture.permits.now());
    expect(Number(await fixture.permits.redis.command('PEXPIRETIME', key))).toBe(
      Math.floor(Number(await fixture.permits.now()) / 1000) + 7_200_000,
    );
    expect(await fixture.permits.redis.command('ZSCORE', key, other.ticket)).toBeNull();
  });

  it('takes the waiter nearest to the position if two waiters have the same enqueue time', async () => {
    const { lock } = await fixture.held({ ttlMs: 60_000 });
    const same = await fixture.permits.requests(3, 's1', lock);
    for (const one of same) await one.queue();
    const [first, second, third] = same as [Requester, Requester, Requester];
    await fixture.step(lock, { kind: 'waiter', position: 2, enqueueTimeUs: await enqueued(first) });
    expect(await second.claim()).toEqual(REVOKED);
    is('waiting', await first.claim());
    is('waiting', await third.claim());
  });

  it('grants the waiter behind, if the revoked waiter did not fit', async () => {
    const semaphore = fixture.permits.resource('semaphore');
    await fixture.permits.setLimit(semaphore, 3);
    const [small, big, next] = [
      await fixture.permits.request('s1', semaphore, { permits: 2 }),
      await fixture.permits.request('s1', semaphore, { permits: 2 }),
      await fixture.permits.request('s1', semaphore),
    ];
    is('granted', await small.try());
    for (const waiter of [big, next]) is('waiting', await waiter.queue());
    await fixture.step(semaphore, { kind: 'waiter', position: 1, enqueueTimeUs: await enqueued(big) });
    is('granted', await next.claim());
    expect((await fixture.permits.stored(semaphore)).numbers.used).toBe('3');
  });

  it('leaves holders, offers and detached requests with this time alone', async () => {
    const { lock, alice } = await fixture.held();
    const bob = await fixture.permits.request('s1', lock);
    await bob.queue();
    await bob.giveBack();
    const enqueueTimeUs = await enqueued(alice);
    expect(await enqueued(bob)).toBe(enqueueTimeUs);
    expect(await fixture.step(lock, { kind: 'waiter', position: 1, enqueueTimeUs })).toEqual(NOTHING);
    expect(await fixture.recordOf(bob)).toMatchObject({ state: 'detached' });
  });
});
