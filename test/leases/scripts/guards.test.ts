import type { Resource } from '../../../src/leases/lease';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import type { Requester } from '../../support/leases/lease-requester';
import type { TestServer } from '../../support/leases/lease-server';
import type { Stored } from '../../support/leases/lease-stored';
import { failureOf, is } from '../../support/reply-kinds';

/** The answers of each script on a Redis that may have lost leases, and after the script's deadline. */
describe('the epoch check of scripts', () => {
  let fixture: LeaseFixture;
  let server: TestServer;
  beforeAll(async () => {
    fixture = await LeaseFixture.open();
    server = await fixture.server('s1');
  });
  afterEach(async () => {
    server.epochArguments = undefined;
    for (const [key, epoch] of changed.splice(0).reverse()) await fixture.redis.command('SET', key, epoch);
    server.turnedBack.splice(0);
  });
  afterAll(() => fixture.close());

  const NEVER = Number.MAX_SAFE_INTEGER;
  const RUN = `L2:${'f'.repeat(40)}`;
  const QUARANTINE_US = 20_000_000n;

  const changed: [key: string, epoch: string][] = [];
  const change = async (resource: Resource, epoch?: string) => {
    const key = fixture.epochKey(resource);
    changed.push([key, (await fixture.redis.command('GET', key)) as string]);
    await (epoch === undefined
      ? fixture.redis.command('DEL', key)
      : fixture.redis.command('SET', key, epoch));
  };

  /** Sets up the condition under which scripts answer with the reply word and do not grant. */
  const reasons = {
    STALE: async (resource: Resource) => {
      const epoch = (await fixture.redis.command('GET', fixture.epochKey(resource))) as string;
      server.epochArguments = [epoch, Number(await fixture.now()) - 1];
    },
    'EPOCH (another run of Redis)': async () => {
      server.epochArguments = [`${RUN} a 60000 0`, NEVER];
    },
    'EPOCH (missing epoch)': async (resource: Resource) => {
      const epoch = (await fixture.redis.command('GET', fixture.epochKey(resource))) as string;
      await change(resource);
      server.epochArguments = [epoch, NEVER];
    },
    QUARANTINED: async (resource: Resource, shiftUs = 0n) => {
      const now = BigInt(await fixture.now());
      const epoch = `${RUN} a 60000 0 ${now} ${now + QUARANTINE_US} ${shiftUs} restarted`;
      await change(resource, epoch);
      server.epochArguments = [`${RUN} a 60000 0`, NEVER];
    },
  };
  const names = Object.keys(reasons) as (keyof typeof reasons)[];
  const wordOf = (name: string) => name.split(' ')[0];

  /** A semaphore with a limit of 2. Alice and an expired lease hold the permits. Carol and bob wait. */
  async function scene() {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const make = (ttlMs: number) => fixture.request('s1', semaphore, { ttlMs });
    const [alice, ended, carol, bob] = [
      await make(60_000),
      await make(30_000),
      await make(60_000),
      await make(60_000),
    ];
    is('granted', await alice.try());
    is('granted', await ended.try());
    is('waiting', await carol.queue());
    is('waiting', await bob.queue());
    await fixture.setEnd(ended, Number(await fixture.now()) - 1);
    return { semaphore, alice, ended, carol, bob };
  }

  const revokeAll = (resource: Resource, force: boolean) =>
    server.store.revoke(resource, { target: { kind: 'all-holders' }, force, after: undefined });

  const without = (stored: Stored, { requestId }: Requester) => ({
    records: Object.entries(stored.records).filter(([id]) => id !== requestId),
    sets: Object.values(stored.sets).map((members) => members.filter(({ id }) => id !== requestId)),
  });

  describe.each(names)('while grants are refused with %s', (name) => {
    const grants: Record<string, (by: Awaited<ReturnType<typeof scene>>) => Promise<unknown>> = {
      'an acquire': async ({ semaphore }) => (await fixture.request('s1', semaphore)).queue(),
      'an acquire that does not wait': async ({ semaphore }) =>
        (await fixture.request('s1', semaphore)).try(),
      'a repeated acquire': ({ alice }) => alice.try(),
      'a claim': ({ carol }) => carol.claim(),
      'a touch': ({ bob }) => bob.touch(),
      'a touch without waiters': ({ semaphore }) => server.store.touch(semaphore, []),
      'a higher limit': ({ semaphore }) => fixture.setLimit(semaphore, 9),
      'a lower limit': ({ semaphore }) => fixture.setLimit(semaphore, 1),
      'a deletion': ({ semaphore }) => fixture.remove(semaphore, { force: true }),
      'a common renewal': ({ alice }) => server.store.renewMany([alice.toRenew(), alice.toRenew()], {}),
    };
    it.each(Object.keys(grants))('refuses %s, and changes nothing', async (what) => {
      const by = await scene();
      await reasons[name](by.semaphore);
      const before = await fixture.stored(by.semaphore);
      const failure = await failureOf(grants[what]!(by));
      expect(failure.carriedOut).toBe('no');
      expect(server.turnedBack).toEqual([wordOf(name)]);
      expect(await fixture.stored(by.semaphore)).toEqual(before);
      const left = failure.retryAfterMs ?? 0;
      if (name === 'QUARANTINED') expect(left).toBeGreaterThan(Number(QUARANTINE_US) / 1000 - 5000);
      if (name === 'QUARANTINED') expect(left).toBeLessThanOrEqual(Number(QUARANTINE_US) / 1000);
    });

    it('lets a release free its own permits and change no other request', async () => {
      const { semaphore, alice } = await scene();
      const before = await fixture.stored(semaphore);
      await reasons[name](semaphore);
      is('released', await alice.release(alice.secret));
      const followUp = name === 'STALE' ? 'touch' : 'check-epochs';
      expect(server.answers.at(-1)).toMatchObject({ word: 'RELEASED', followUp });
      const after = await fixture.stored(semaphore);
      expect(without(after, alice)).toEqual(without(before, alice));
      expect(after.numbers.used).toBe('1');
      expect(brokenInvariants(after)).toEqual([]);
      expect(is('finished', await alice.release(alice.secret)).cause).toBe('released');
    });

    it('answers a release of an expired lease with the cause `expired`', async () => {
      const { semaphore, ended } = await scene();
      await reasons[name](semaphore);
      expect(is('finished', await ended.release(ended.secret)).cause).toBe('expired');
    });

    it('lets a withdrawal end the wait, and answers the withdrawal with the reply word', async () => {
      const { semaphore, bob } = await scene();
      const before = await fixture.stored(semaphore);
      await reasons[name](semaphore);
      expect((await failureOf(bob.withdraw())).carriedOut).toBe('no');
      expect(server.turnedBack).toEqual([wordOf(name)]);
      const after = await fixture.stored(semaphore);
      expect(without(after, bob)).toEqual(without(before, bob));
      expect(after.records[bob.requestId]).toMatchObject({ state: 'detached' });
    });

    it('lets a grant be given back, and offers its permits to no other request', async () => {
      const { semaphore, alice } = await scene();
      const before = await fixture.stored(semaphore);
      await reasons[name](semaphore);
      is('withdrawn', await alice.giveBack());
      const after = await fixture.stored(semaphore);
      expect(without(after, alice)).toEqual(without(before, alice));
      expect(after.numbers.used).toBe('1');
    });
  });

  describe.each(['', 'L1:', 'L3:'])('while the bucket has leases of another layout (%p)', (layout) => {
    const commands: Record<string, (by: Awaited<ReturnType<typeof scene>>) => Promise<unknown>> = {
      'an acquire': async ({ semaphore }) => (await fixture.request('s1', semaphore)).queue(),
      'a claim': ({ carol }) => carol.claim(),
      'a touch': ({ bob }) => bob.touch(),
      'a withdrawal': ({ bob }) => bob.withdraw(),
      'a give-back': ({ alice }) => alice.giveBack(),
      'a renewal': ({ alice }) => alice.renew(alice.secret),
      'a takeover': ({ alice }) => alice.takeOver(alice.secret),
      'a common renewal': ({ alice }) => server.store.renewMany([alice.toRenew(), alice.toRenew()], {}),
      'a release': ({ alice }) => alice.release(alice.secret),
      'a limit': ({ semaphore }) => fixture.setLimit(semaphore, 9),
      'a deletion': ({ semaphore }) => fixture.remove(semaphore, { force: true }),
      'a revocation': ({ semaphore }) => revokeAll(semaphore, true),
      'an inspection': ({ semaphore }) => server.store.inspect(semaphore),
    };
    it.each(Object.keys(commands))(
      'refuses %s, also after its deadline, and changes nothing',
      async (what) => {
        const by = await scene();
        await change(by.semaphore, `${layout}${'f'.repeat(40)} a 60000 0`);
        for (const notAfter of [NEVER, 1]) {
          server.epochArguments = [`${RUN} a 60000 0`, notAfter];
          const before = await fixture.stored(by.semaphore);
          expect(await failureOf(commands[what]!(by))).toMatchObject({ carriedOut: 'no' });
          if (what !== 'an inspection') expect(server.turnedBack.splice(0)).toEqual(['LAYOUT']);
          expect(await fixture.stored(by.semaphore)).toEqual(before);
        }
      },
    );
  });

  it('a claim of a revoked lease is refused while the bucket has leases of another layout', async () => {
    const by = await scene();
    is('revoked', await revokeAll(by.semaphore, false));
    await change(by.semaphore, `L3:${'f'.repeat(40)} a 60000 0`);
    server.epochArguments = [`${RUN} a 60000 0`, NEVER];
    const before = await fixture.stored(by.semaphore);
    expect(await failureOf(by.alice.claim())).toMatchObject({ carriedOut: 'no' });
    expect(server.turnedBack.splice(0)).toEqual(['LAYOUT']);
    expect(await fixture.stored(by.semaphore)).toEqual(before);
  });

  it.each([undefined, 'edited manually'])(
    'an inspection shows the name while its epoch is %p',
    async (epoch) => {
      const { semaphore } = await scene();
      await change(semaphore, epoch);
      expect((await server.store.inspect(semaphore)).limit).toBe(2);
    },
  );

  const notLate = names.filter((name) => name !== 'STALE');

  it.each([true, false])(
    'answers STALE to a revocation after its deadline, and changes nothing (force: %p)',
    async (force) => {
      const { semaphore } = await scene();
      const before = await fixture.stored(semaphore);
      await reasons.STALE(semaphore);
      expect((await failureOf(revokeAll(semaphore, force))).carriedOut).toBe('no');
      expect(await fixture.stored(semaphore)).toEqual(before);
    },
  );

  it.each(notLate.flatMap((name) => [[true, name] as const, [false, name] as const]))(
    'lets a revocation (force: %p) revoke leases, and grants nothing, while grants are refused with %s',
    async (force, name) => {
      const { semaphore, alice, ended, carol, bob } = await scene();
      const before = await fixture.stored(semaphore);
      await reasons[name](semaphore);
      expect(await revokeAll(semaphore, force)).toMatchObject({ kind: 'revoked', count: 1 });
      expect(server.answers.at(-1)).toMatchObject({ word: 'REVOKED', followUp: 'check-epochs' });
      const after = await fixture.stored(semaphore);
      expect(without(after, alice)).toEqual(without(before, alice));
      expect(after.records[alice.requestId]).toMatchObject(
        force ? { state: 'ended' } : { state: 'held', revoked: '1' },
      );
      expect(after.records[ended.requestId]).toMatchObject({ state: 'held' });
      expect(brokenInvariants(after)).toEqual([]);
      expect(is('finished', await alice.renew(alice.secret)).cause).toBe('revoked');
      const waiter = {
        kind: 'waiter',
        position: 1,
        enqueueTimeUs: BigInt(after.records[carol.requestId]?.queuedAt ?? 0),
      } as const;
      expect(await server.store.revoke(semaphore, { target: waiter, force, after: undefined })).toMatchObject(
        { count: 1 },
      );
      const records = (await fixture.stored(semaphore)).records;
      expect(records[carol.requestId]).toMatchObject({ state: 'ended', cause: 'revoked' });
      expect(records[bob.requestId]).toMatchObject({ state: 'waiting' });
    },
  );

  it.each(notLate.flatMap((name) => [[true, name] as const, [false, name] as const]))(
    'tells a claim that its waiting request was revoked, and changes nothing (tombstone: %p), while grants are refused with %s',
    async (hasTombstone, name) => {
      const { semaphore, carol } = await scene();
      const enqueueTimeUs = BigInt((await fixture.stored(semaphore)).records[carol.requestId]?.queuedAt ?? 0);
      const target = { kind: 'waiter', position: 1, enqueueTimeUs } as const;
      await reasons[name](semaphore);
      await server.store.revoke(semaphore, { target, force: false, after: undefined });
      if (!hasTombstone) {
        await fixture.redis.command('HDEL', fixture.key(semaphore, 'state'), `r${carol.requestId}`);
      }
      const before = await fixture.stored(semaphore);
      expect(await carol.claim()).toEqual({ kind: 'finished', cause: 'revoked' });
      expect(server.answers.at(-1)).toMatchObject({ word: 'FINISHED', followUp: 'check-epochs' });
      expect(await fixture.stored(semaphore)).toEqual(before);
      const newer = await fixture.request('s1', semaphore, { requestId: carol.requestId });
      if (hasTombstone) is('superseded', await newer.claim());
    },
  );

  it.each(notLate)(
    'names the token of a revoked lease to a claim that may return the lease, while grants are refused with %s',
    async (name) => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      const { fencingToken } = is('granted', await alice.try());
      await fixture.revoke(alice);
      await reasons[name](lock);
      expect(await alice.claim()).toEqual({ kind: 'finished', cause: 'revoked', returnable: fencingToken });
      expect(await alice.giveBack(fencingToken)).toEqual({ kind: 'finished', cause: 'revoked' });
      expect(await alice.claim()).toEqual({ kind: 'finished', cause: 'revoked' });
    },
  );

  it('refuses a claim after a manual deletion of its place, and changes nothing', async () => {
    const { semaphore, carol } = await scene();
    await fixture.redis.command('ZREM', fixture.key(semaphore, 'queue'), carol.requestId);
    const before = await fixture.stored(semaphore);
    await reasons.QUARANTINED(semaphore);
    expect((await failureOf(carol.claim())).carriedOut).toBe('no');
    expect(await fixture.stored(semaphore)).toEqual(before);
  });

  it('refuses a late claim of a revoked request', async () => {
    const { semaphore, alice } = await scene();
    await fixture.revoke(alice);
    await reasons.STALE(semaphore);
    expect((await failureOf(alice.claim())).carriedOut).toBe('no');
  });

  it('withdraws no permits from a revoked lease that a client may know, while grants pause', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    const { fencingToken } = is('granted', await alice.try());
    await fixture.revoke(alice);
    await reasons.QUARANTINED(lock);
    expect(await alice.withdraw()).toEqual({ kind: 'finished', cause: 'revoked', returnable: fencingToken });
    expect((await fixture.stored(lock)).records[alice.requestId]).toMatchObject({ state: 'held' });
  });

  it('revokes a lease that seems expired only because the clock was set forward, while grants pause for that step', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    await fixture.passInUse(lock, 60_000);
    await reasons.QUARANTINED(lock, 60_000_000n);
    expect(await revokeAll(lock, false)).toMatchObject({ kind: 'revoked', count: 1 });
    await fixture.passInUse(lock, 30_000);
    expect(await revokeAll(lock, false)).toMatchObject({ kind: 'revoked', count: 0 });
  });

  it.each(notLate)(
    'lets a renewal renew its own lease and change no other request, while grants are refused with %s',
    async (name) => {
      const { semaphore, alice } = await scene();
      await fixture.passInUse(semaphore, 10_000);
      const before = await fixture.stored(semaphore);
      await reasons[name](semaphore);
      expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(60_000);
      const after = await fixture.stored(semaphore);
      expect(without(after, alice)).toEqual(without(before, alice));
    },
  );

  it.each(notLate)(
    'answers a renewal of an expired lease with the cause `expired`, while grants are refused with %s',
    async (name) => {
      const { semaphore, ended } = await scene();
      await reasons[name](semaphore);
      expect(is('finished', await ended.renew(ended.secret)).cause).toBe('expired');
      is('finished', await ended.renew(ended.secret));
    },
  );

  it('answers STALE to a renewal after its deadline, and changes nothing', async () => {
    const { semaphore, alice, ended } = await scene();
    await fixture.passInUse(semaphore, 10_000);
    const before = await fixture.stored(semaphore);
    await reasons.STALE(semaphore);
    await failureOf(alice.renew(alice.secret));
    await failureOf(ended.renew(ended.secret));
    expect(await fixture.stored(semaphore)).toEqual(before);
  });

  it.each([
    ['refuses (EPOCH)', 'within', 11_000, false],
    ['renews (EPOCH)', 'after', 19_000, true],
    ['refuses (QUARANTINED)', 'within', 11_000, false],
    ['renews (QUARANTINED)', 'after', 19_000, true],
    // No other Redis grants because of a step of the clock.
    ['renews (QUARANTINED for a step of the clock)', 'within', 11_000, true],
  ])(
    '%s a lease that ends %s the time in which another master may still grant',
    async (what, _, leftMs, isRenewed) => {
      const [overlapMs, ttlMs] = [12_000, 20_000];
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock, { ttlMs });
      is('granted', await alice.try());
      await fixture.passInUse(lock, ttlMs - leftMs);
      const now = BigInt(await fixture.now());
      const cause = what.includes('clock') ? 'clock' : 'restarted';
      const pause = `${RUN} a 60000 ${overlapMs} ${now} ${now + QUARANTINE_US} 0 ${cause}`;
      if (what.includes('QUARANTINED')) await change(lock, pause);
      server.epochArguments = [`${RUN} a 60000 ${overlapMs}`, NEVER];
      const before = await fixture.stored(lock);
      if (isRenewed) {
        expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(ttlMs);
      } else {
        await failureOf(alice.renew(alice.secret));
        expect(await fixture.stored(lock)).toEqual(before);
      }
      is('released', await alice.release(alice.secret));
    },
  );

  it('does not turn an offer into a grant on withdrawal while grants pause', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s2', lock), await fixture.request('s1', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    expect((await fixture.stored(lock)).records[bob.requestId]).toMatchObject({ state: 'offered' });
    await reasons.QUARANTINED(lock);
    await failureOf(bob.withdraw());
    expect((await fixture.stored(lock)).records[bob.requestId]).toMatchObject({ state: 'offered' });
  });

  it.each(notLate)(
    'lets a withdrawal give back a grant that no client knows, while grants are refused with %s',
    async (name) => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      is('granted', await alice.try());
      await reasons[name](lock);
      await failureOf(alice.withdraw());
      expect((await fixture.stored(lock)).records[alice.requestId]).toMatchObject({ state: 'detached' });
      expect((await fixture.stored(lock)).sets.ends).toEqual([]);
    },
  );

  it.each(notLate)(
    'keeps a grant that another call may know, if the grant is withdrawn while grants are refused with %s',
    async (name) => {
      const [lock, other] = [fixture.resource(), fixture.resource()];
      const stream = await fixture.request('s1', lock, { stream: true });
      const unary = await fixture.request('s1', other);
      const take = { requestId: stream.requestId, stream: true };
      const newer = await fixture.request('s1', lock, take);
      const repeated = await fixture.request('s1', other, { requestId: unary.requestId });
      for (const call of [stream, newer, unary, repeated]) is('granted', await call.try());
      for (const call of [newer, unary]) {
        await reasons[name](call.resource);
        is('granted', await call.withdraw());
        expect((await fixture.stored(call.resource)).sets.ends).toHaveLength(1);
      }
    },
  );

  it('leaves a step back of the clock to the next script that may purge', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const [alice, crashed] = await fixture.requests(2, 's1', semaphore, { ttlMs: 20_000 });
    for (const one of [alice, crashed]) is('granted', await (one as Requester).try());
    await fixture.pass(semaphore, -3_600_000);
    await reasons['EPOCH (another run of Redis)']();
    expect(is('granted', await (alice as Requester).renew((alice as Requester).secret)).remainingMs).toBe(
      20_000,
    );
    server.epochArguments = undefined;
    await server.store.touch(semaphore, []);
    const now = Number(await fixture.now());
    for (const { score } of (await fixture.stored(semaphore)).sets.ends)
      expect(score - now).toBeLessThanOrEqual(20_000_000);
  });

  it('renews a lease that seems expired only because the clock was set forward, while grants pause for that step', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 20_000 });
    const bob = await fixture.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    await fixture.passInUse(lock, 60_000);
    await reasons.QUARANTINED(lock, 60_000_000n);
    expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(20_000);
    // A lease that had expired before the step stays expired.
    await fixture.passInUse(lock, 81_000);
    is('finished', await alice.renew(alice.secret));
    await failureOf(bob.try());
  });

  it('lets the first script after the pause end expired leases, and grant', async () => {
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock, { ttlMs: 5000 })).try());
    await fixture.passInUse(lock, 5001);
    const now = BigInt(await fixture.now());
    await change(lock, `${RUN} a 60000 ${now - 9n} ${now - 1n} 0 restarted`);
    server.epochArguments = [`${RUN} a 60000 0`, NEVER];
    is('granted', await (await fixture.request('s1', lock)).try());
    // Another server wrote the epoch of the same run with a longer quarantine.
    await change(lock, `${RUN} w 90000 0`);
    is('refused', await (await fixture.request('s1', lock)).try());
  });
});
