import type { Resource } from '../../../src/leases/lease';
import type { RevokeCursor } from '../../../src/leases/lease-store';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import { OFFERED_TTL_MS, type Requester } from '../../support/leases/lease-requester';
import { ALL, NOTHING, RevocationFixture, REVOKED } from '../../support/leases/revocation-fixture';
import { is } from '../../support/reply-kinds';

let fixture: RevocationFixture;
beforeAll(async () => {
  fixture = await RevocationFixture.open();
});
afterAll(() => fixture.close());

const BATCH = 64;
/** Where the second pass begins. */
const LATER = expect.objectContaining({ pass: 'later', requestId: '' }) as RevokeCursor;

describe('lease-revoke among many leases', () => {
  describe('of many leases', () => {
    it('answers the latest end', async () => {
      const semaphore = fixture.permits.resource('semaphore');
      for (const ttlMs of [5000, 20_000, 10_000])
        is(
          'granted',
          await (await fixture.permits.request('s1', semaphore, { initialLimit: 3, ttlMs })).try(),
        );
      const latestEndMs = Number(await fixture.permits.now()) / 1000 + 20_000;
      expect(await fixture.step(semaphore, ALL)).toMatchObject({ count: 3, latestEndMs });
    });

    it('counts no lease of an earlier step again after the leases have moved into the head', async () => {
      const { semaphore, all: early } = await fixture.holders(60);
      const late = await fixture.permits.requests(24, 's1', semaphore, { ttlMs: 30_000 });
      for (const one of late) is('granted', await one.try());
      const { next } = await fixture.step(semaphore, ALL);
      const isBehind = ({ requestId }: Requester) => requestId > (next?.requestId ?? '');
      const kept = [...early.filter(isBehind).slice(0, 4), ...late.filter(isBehind).slice(0, 4)];
      for (const one of [...early, ...late])
        if (!kept.includes(one)) is('released', await one.release(one.secret));
      expect((await fixture.permits.stored(semaphore)).numbers.isSpilled).toBe('0');
      expect(await fixture.step(semaphore, ALL, { after: next })).toMatchObject({ count: 4, next: LATER });
    });

    it('revokes 64 leases in each step, and counts each lease once, although all end at the same time', async () => {
      const { semaphore } = await fixture.holders(200);
      const end = Number(await fixture.permits.now()) / 1000 + 20_000;
      const first = await fixture.revoke(semaphore, ALL);
      // The second pass finds no other lease.
      expect(first).toEqual({ counts: [BATCH, BATCH, BATCH, 8, 0, 0, 0, 0], latestEndMs: end });
      expect(await fixture.revoke(semaphore, ALL)).toEqual(first);
      const records = Object.values((await fixture.permits.stored(semaphore)).records);
      expect(records.filter(({ revoked }) => revoked === '1')).toHaveLength(200);
    });

    it.each([true, false])(
      'leaves leases alone that are granted between steps (force: %p)',
      async (force) => {
        const { semaphore } = await fixture.holders(100);
        await fixture.permits.passInUse(semaphore, 1); // a later token
        const later: Requester[] = [];
        const { counts } = await fixture.revoke(semaphore, ALL, force, async () => {
          const one = await fixture.permits.request('s1', semaphore, { ttlMs: 30_000 });
          is('granted', await one.try());
          later.push(one);
        });
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(100);
        for (const one of later) is('granted', await one.renew(one.secret));
        expect(await fixture.permits.idsIn(semaphore, 'ends')).toHaveLength(
          force ? later.length : 100 + later.length,
        );
      },
    );

    /** The test moves stored times, and not the clock. So the end in the cursor moves too. */
    const setBack = async (semaphore: Resource, next: RevokeCursor): Promise<RevokeCursor> => {
      await fixture.permits.pass(semaphore, -3_600_000);
      return { ...next, endUs: String(Number(next.endUs) + 3_600_000_000) };
    };

    it.each([
      [true, 1],
      [false, 1],
      [false, 2],
    ])(
      "misses no lease if Redis's clock is set back between steps (force: %p, after step %p)",
      async (force, steps) => {
        const { semaphore, all } = await fixture.holders(200);
        // With force, a later pass also counts leases that were revoked without force before.
        if (force) await fixture.revoke(semaphore, ALL);
        let left = steps;
        const { counts } = await fixture.revoke(semaphore, ALL, force, async (next) => {
          left -= 1;
          // The next script shortens leases, which then end before the last visited lease.
          return left === 0 ? setBack(semaphore, next) : next;
        });
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(200);
        for (const one of all) expect((await one.renew(one.secret)).kind).not.toBe('granted');
      },
    );

    it("finds a lease by its token although Redis's clock is set back between steps", async () => {
      const { semaphore, all } = await fixture.holders(200);
      const last = [...all].sort((a, b) => (a.requestId < b.requestId ? -1 : 1)).at(-1) as Requester;
      let isSetBack = false;
      const target = { kind: 'token', fencingToken: last.token as bigint } as const;
      const { counts } = await fixture.revoke(semaphore, target, false, async (next) => {
        if (isSetBack) return next;
        isSetBack = true;
        // A later pass counts this lease too, although the lease was revoked before.
        await fixture.step(semaphore, { ...target, kind: 'lease', requestId: last.requestId });
        return setBack(semaphore, next);
      });
      expect(counts.at(-1)).toBe(1);
      expect(counts.length).toBeGreaterThan(4);
    });

    it('counts the leases of all steps that were revoked before', async () => {
      const { semaphore, all } = await fixture.holders(200);
      for (const one of all.slice(0, 100)) {
        const { requestId, token = 0n } = one;
        expect((await fixture.step(semaphore, { kind: 'lease', requestId, fencingToken: token })).count).toBe(
          1,
        );
      }
      expect((await fixture.revoke(semaphore, ALL)).counts).toEqual([BATCH, BATCH, BATCH, 8, 0, 0, 0, 0]);
    });

    it('visits the leases again until a pass finds no other lease', async () => {
      const { semaphore, all } = await fixture.holders(70);
      const { next } = await fixture.step(semaphore, ALL);
      const second = await fixture.step(semaphore, ALL, { after: next });
      expect(second).toMatchObject({ count: 6, next: LATER });
      // A failover has undone the revocation of a lease: the model is an edit of its record.
      const [lost] = [...all].sort((a, b) => (a.requestId < b.requestId ? -1 : 1)) as [Requester];
      const edit = `
        local record = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))
        record.v = nil
        redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(record))`;
      await fixture.permits.redis.command(
        'EVAL',
        edit,
        1,
        fixture.permits.key(semaphore, 'state'),
        `r${lost.requestId}`,
      );
      const third = await fixture.step(semaphore, ALL, { after: second.next });
      expect(third).toMatchObject({ count: 1, next: { pass: 'found' } });
      const fourth = await fixture.step(semaphore, ALL, { after: third.next });
      expect(fourth).toMatchObject({ count: 0, next: LATER });
      const fifth = await fixture.step(semaphore, ALL, { after: fourth.next });
      expect(fifth).toMatchObject({ count: 0, next: { pass: 'later' } });
      expect(await fixture.step(semaphore, ALL, { after: fifth.next })).toEqual({
        ...NOTHING,
        latestEndMs: expect.any(Number),
      });
    });

    it('misses no lease that is renewed between steps', async () => {
      const { semaphore, all } = await fixture.holders(150);
      let ttlMs = 20_000;
      const { counts } = await fixture.revoke(semaphore, ALL, false, async () => {
        // The leases that are not revoked yet move behind all others.
        ttlMs += 10;
        for (const one of all) await one.renew(one.secret, ttlMs);
      });
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(150);
    });

    it('goes on if the lease of the last step has ended, or if the leases have moved into the head', async () => {
      const { semaphore, all } = await fixture.holders(BATCH + 20);
      const { next } = await fixture.step(semaphore, ALL);
      const visited = all.find(({ requestId }) => requestId === next?.requestId) as Requester;
      is('released', await visited.release(visited.secret));
      const records = (await fixture.permits.stored(semaphore)).records;
      const left = all.filter(
        ({ requestId }) => records[requestId]?.revoked !== '1' && requestId !== visited.requestId,
      );
      expect(left).toHaveLength(20);
      // Eight leases return to the head: four are revoked, and four are not.
      const kept = left.slice(0, 4);
      const others = all.filter((one) => !left.includes(one) && one !== visited).slice(0, 4);
      for (const one of all)
        if (![...kept, ...others, visited].includes(one)) is('released', await one.release(one.secret));
      expect((await fixture.permits.stored(semaphore)).numbers.isSpilled).toBe('0');
      expect(await fixture.step(semaphore, ALL, { after: next })).toMatchObject({ count: 4, next: LATER });
    });

    it('ends all leases with force, in steps of 64', async () => {
      const { semaphore } = await fixture.holders(150);
      expect(await fixture.revoke(semaphore, ALL, true)).toEqual({
        counts: [BATCH, BATCH, 22, 0],
        latestEndMs: undefined,
      });
      const stored = await fixture.permits.stored(semaphore);
      expect(stored.sets.ends).toEqual([]);
      expect(stored.numbers.used).toBe('0');
    });

    it('finds a lease by its token among 500, in steps of 64, although the others are renewed', async () => {
      const { semaphore, all } = await fixture.holders(500);
      let ttlMs = 20_000;
      for (const wanted of [all[0], all[250], all[499]] as Requester[]) {
        const target = { kind: 'token', fencingToken: wanted.token as bigint } as const;
        const { counts } = await fixture.revoke(semaphore, target, false, async () => {
          ttlMs += 10;
          for (const one of all.slice(0, 20)) await one.renew(one.secret, ttlMs);
        });
        expect(counts.at(-1)).toBe(1);
        expect(counts.slice(0, -1).every((count) => count === 0)).toBe(true);
        expect(await wanted.renew(wanted.secret)).toEqual(REVOKED);
      }
      const unknown = await fixture.revoke(semaphore, { kind: 'token', fencingToken: 1n });
      expect(unknown.counts).toEqual(Array.from({ length: 16 }, () => 0));
      const revoked = Object.values((await fixture.permits.stored(semaphore)).records).filter(
        (one) => one.revoked,
      );
      expect(revoked).toHaveLength(3);
    });
  });

  describe('of the lease of one request', () => {
    const leaseOf = ({ requestId, token = 0n }: Requester) =>
      ({ kind: 'lease', requestId, fencingToken: token }) as const;

    it('finds the lease among 200 in one step', async () => {
      const { semaphore, all } = await fixture.holders(200);
      for (const one of [all[0], all[199]] as Requester[]) {
        const reply = await fixture.step(semaphore, leaseOf(one));
        expect(reply).toEqual({ ...NOTHING, count: 1, latestEndMs: expect.any(Number) });
        expect(await fixture.step(semaphore, leaseOf(one))).toEqual(reply);
        expect(await one.renew(one.secret)).toEqual(REVOKED);
      }
      expect((await fixture.step(semaphore, ALL)).count).toBe(BATCH);
    });

    it('leaves a lease with another token alone, an expired lease, and a waiting request', async () => {
      const { lock, alice } = await fixture.held();
      const bob = await fixture.permits.request('s1', lock);
      await bob.queue();
      const target = leaseOf(alice);
      expect(await fixture.step(lock, { ...target, fencingToken: target.fencingToken + 1n })).toEqual(
        NOTHING,
      );
      expect(await fixture.step(lock, leaseOf(bob))).toEqual(NOTHING);
      expect(await fixture.step(lock, { ...target, requestId: bob.requestId })).toEqual(NOTHING);
      is('granted', await alice.renew(alice.secret));
      await fixture.permits.passInUse(lock, 30_000);
      expect(await fixture.step(lock, target)).toEqual(NOTHING);
    });
  });

  it('finds nothing by an unknown token, and nothing of an unused lock', async () => {
    const { lock, alice, byToken } = await fixture.held();
    for (const fencingToken of [byToken.fencingToken - 1n, byToken.fencingToken + 1n, 2n ** 63n - 1n])
      expect(await fixture.step(lock, { kind: 'token', fencingToken })).toEqual(NOTHING);
    is('granted', await alice.renew(alice.secret));
    const { store } = await fixture.permits.server('s1');
    const unused = fixture.permits.resource();
    for (const service of ['lock', 'semaphore'] as const) {
      const resource = { ...unused, service };
      expect(await store.revoke(resource, { target: ALL, force: true, after: undefined })).toEqual({
        kind: 'unknown-resource',
      });
      expect(await fixture.permits.redis.command('EXISTS', fixture.permits.key(resource, 'state'))).toBe('0');
    }
  });

  it('leaves expired leases out, even if more have expired than one script purges', async () => {
    const { semaphore } = await fixture.holders(100, { ttlMs: 5000 });
    const alive = await fixture.permits.requests(30, 's1', semaphore, { ttlMs: 20_000 });
    for (const one of alive) is('granted', await one.try());
    await fixture.permits.passInUse(semaphore, 5000);
    const { counts } = await fixture.revoke(semaphore, ALL);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(30);
  });

  it('grants to waiters of an expired lease, also if it finds nothing', async () => {
    const { lock } = await fixture.held();
    const bob = await fixture.permits.request('s3', lock);
    await bob.queue();
    await fixture.permits.passInUse(lock, 10_000);
    const s3 = await fixture.permits.server('s3');
    s3.grants = [];
    expect(await fixture.step(lock, { kind: 'token', fencingToken: 1n })).toEqual(NOTHING);
    expect(s3.grants).toHaveLength(1);
  });

  it.each([
    ['an acquire', (one: Requester) => one.queue()],
    ['a claim', (one: Requester) => one.claim()],
    ['a withdrawal', (one: Requester) => one.withdraw()],
    ['a return', (one: Requester) => one.giveBack(one.token)],
  ])('lets %s of a revoked request grant permits that are free', async (_, act) => {
    const semaphore = fixture.permits.resource('semaphore');
    await fixture.permits.setLimit(semaphore, 2);
    const revoked = await fixture.permits.request('s1', semaphore, { ttlMs: 20_000 });
    const other = await fixture.permits.request('s1', semaphore, { ttlMs: 5000 });
    for (const one of [revoked, other]) is('granted', await one.try());
    const waiter = await fixture.permits.request('s1', semaphore);
    await waiter.queue();
    await fixture.permits.revoke(revoked);
    await fixture.permits.passInUse(semaphore, 5000);
    const s1 = await fixture.permits.server('s1');
    s1.grants = [];
    is('finished', await act(revoked));
    expect(s1.grants).toMatchObject([{ call: { requestId: waiter.requestId } }]);
  });

  it('skips a lease or a waiter after its record was deleted manually', async () => {
    const { semaphore, all } = await fixture.holders(3);
    const [first] = all as [Requester];
    await fixture.permits.redis.command(
      'HDEL',
      fixture.permits.key(semaphore, 'state'),
      `r${first.requestId}`,
    );
    expect((await fixture.step(semaphore, ALL)).count).toBe(2);
    const { lock } = await fixture.held();
    await fixture.permits.addGhost(lock, 'queue', 1);
    await fixture.permits.addGhost(lock, 'offers', Number(await fixture.permits.now()) + 1_000_000);
    expect(await fixture.step(lock, { kind: 'waiter', position: 1, enqueueTimeUs: 0n })).toEqual(NOTHING);
    expect((await fixture.step(lock, ALL)).count).toBe(1);
  });
});

describe('lease-revoke of a waiter', () => {
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
    const now = Number(await fixture.permits.now());
    for (const one of same) {
      await one.queue();
      await fixture.permits.setQueuedAt(one, now); // as servers of an earlier version could
    }
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
    await fixture.permits.setQueuedAt(bob, Number(enqueueTimeUs));
    expect(await enqueued(bob)).toBe(enqueueTimeUs);
    expect(await fixture.step(lock, { kind: 'waiter', position: 1, enqueueTimeUs })).toEqual(NOTHING);
    expect(await fixture.recordOf(bob)).toMatchObject({ state: 'detached' });
  });
});
