import { StoreFailure } from '../../src/engine/errors';
import type { Resource } from '../../src/engine/leases/lease';
import { PermitsFixture, type Stored, type TestServer } from '../support/permits-fixture';
import { brokenInvariants } from '../support/permits-invariants';
import type { Requester } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

/** What every script does with a Redis that may have forgotten leases, and with a time that has passed. */
describe('guards', () => {
  let on: PermitsFixture;
  let server: TestServer;
  beforeAll(async () => {
    on = await PermitsFixture.open();
    server = await on.server('s1');
  });
  afterEach(async () => {
    server.epochArguments = undefined;
    for (const [key, epoch] of changed.splice(0).reverse()) await on.redis.command('SET', key, epoch);
    server.turnedBack.splice(0);
  });
  afterAll(() => on.close());

  const NEVER = Number.MAX_SAFE_INTEGER;
  const RUN = 'f'.repeat(40);
  const QUARANTINE_US = 20_000_000n;

  const changed: [key: string, epoch: string][] = [];
  const change = async (resource: Resource, epoch?: string) => {
    const key = on.epochKey(resource);
    changed.push([key, (await on.redis.command('GET', key)) as string]);
    await (epoch === undefined ? on.redis.command('DEL', key) : on.redis.command('SET', key, epoch));
  };

  /** Each brings it about that nothing may be granted, and is the word that says so. */
  const reasons = {
    STALE: async (resource: Resource) => {
      const epoch = (await on.redis.command('GET', on.epochKey(resource))) as string;
      server.epochArguments = [epoch, Number(await on.now()) - 1];
    },
    'EPOCH (another run of Redis)': async () => {
      server.epochArguments = [`${RUN} a 60000 0`, NEVER];
    },
    'EPOCH (none)': async (resource: Resource) => {
      const epoch = (await on.redis.command('GET', on.epochKey(resource))) as string;
      await change(resource);
      server.epochArguments = [epoch, NEVER];
    },
    QUARANTINED: async (resource: Resource, shiftUs = 0n) => {
      const now = BigInt(await on.now());
      const epoch = `${RUN} a 60000 0 ${now} ${now + QUARANTINE_US} ${shiftUs} restarted`;
      await change(resource, epoch);
      server.epochArguments = [`${RUN} a 60000 0`, NEVER];
    },
  };
  const names = Object.keys(reasons) as (keyof typeof reasons)[];
  const wordOf = (name: string) => name.split(' ')[0];

  /** A semaphore of 2: alice and one whose lease is over hold it, bob waits, carol was offered what is free. */
  async function scene() {
    const semaphore = on.resource('semaphore');
    await on.setLimit(semaphore, 2);
    const make = (ttlMs: number) => on.request('s1', semaphore, { ttlMs });
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
    await on.redis.command(
      'ZADD',
      on.key(semaphore, 'ends'),
      'XX',
      Number(await on.now()) - 1,
      ended.requestId,
    );
    return { semaphore, alice, ended, carol, bob };
  }

  async function turnedBack(command: Promise<unknown>): Promise<StoreFailure> {
    const failure: unknown = await command.then(
      (reply) => reply,
      (error: unknown) => error,
    );
    if (!(failure instanceof StoreFailure)) throw new Error(`it was answered: ${JSON.stringify(failure)}`);
    return failure;
  }

  const without = (stored: Stored, { requestId }: Requester) => ({
    records: Object.entries(stored.records).filter(([id]) => id !== requestId),
    sets: Object.values(stored.sets).map((members) => members.filter(({ id }) => id !== requestId)),
  });

  describe.each(names)('%s', (name) => {
    const grants: Record<string, (by: Awaited<ReturnType<typeof scene>>) => Promise<unknown>> = {
      'an acquire': async ({ semaphore }) => (await on.request('s1', semaphore)).queue(),
      'an acquire that tries once': async ({ semaphore }) => (await on.request('s1', semaphore)).try(),
      'an acquire that is repeated': ({ alice }) => alice.try(),
      'a claim': ({ carol }) => carol.claim(),
      'a touch': ({ bob }) => bob.touch(),
      'a touch that goes on for another': ({ semaphore }) => server.store.touch(semaphore, []),
      'a higher limit': ({ semaphore }) => on.setLimit(semaphore, 9),
      'a lower limit': ({ semaphore }) => on.setLimit(semaphore, 1),
      'a deletion': ({ semaphore }) => on.remove(semaphore, { force: true }),
    };
    it.each(Object.keys(grants))('%s changes nothing', async (what) => {
      const by = await scene();
      await reasons[name](by.semaphore);
      const before = await on.stored(by.semaphore);
      const failure = await turnedBack(grants[what]!(by));
      expect(failure.carriedOut).toBe('no');
      expect(server.turnedBack).toEqual([wordOf(name)]);
      expect(await on.stored(by.semaphore)).toEqual(before);
      const left = failure.retryAfterMs ?? 0;
      if (name === 'QUARANTINED') expect(left).toBeGreaterThan(Number(QUARANTINE_US) / 1000 - 5000);
      if (name === 'QUARANTINED') expect(left).toBeLessThanOrEqual(Number(QUARANTINE_US) / 1000);
    });

    it('a release frees its own permits, ends nobody else and hands nothing on', async () => {
      const { semaphore, alice } = await scene();
      const before = await on.stored(semaphore);
      await reasons[name](semaphore);
      is('released', await alice.release(alice.secret));
      const after = await on.stored(semaphore);
      expect(without(after, alice)).toEqual(without(before, alice));
      expect(after.numbers.used).toBe('1');
      expect(brokenInvariants(after)).toEqual([]);
      expect(is('finished', await alice.release(alice.secret)).cause).toBe('released');
    });

    it('a release of what has ended says so', async () => {
      const { semaphore, ended } = await scene();
      await reasons[name](semaphore);
      expect(is('finished', await ended.release(ended.secret)).cause).toBe('expired');
    });

    it('a wait is ended for good, with the word that says why', async () => {
      const { semaphore, bob } = await scene();
      const before = await on.stored(semaphore);
      await reasons[name](semaphore);
      expect((await turnedBack(bob.withdraw())).carriedOut).toBe('no');
      expect(server.turnedBack).toEqual([wordOf(name)]);
      const after = await on.stored(semaphore);
      expect(without(after, bob)).toEqual(without(before, bob));
      expect(after.records[bob.requestId]).toMatchObject({ s: 'D' });
    });

    it('what a caller that is gone was granted goes back, and to nobody else', async () => {
      const { semaphore, alice } = await scene();
      const before = await on.stored(semaphore);
      await reasons[name](semaphore);
      is('withdrawn', await alice.giveBack());
      const after = await on.stored(semaphore);
      expect(without(after, alice)).toEqual(without(before, alice));
      expect(after.numbers.used).toBe('1');
    });
  });

  const notLate = names.filter((name) => name !== 'STALE');

  it.each(notLate)('%s: a renewal moves its own end, ends nobody else and hands nothing on', async (name) => {
    const { semaphore, alice } = await scene();
    await on.passInUse(semaphore, 10_000);
    const before = await on.stored(semaphore);
    await reasons[name](semaphore);
    expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(60_000);
    const after = await on.stored(semaphore);
    expect(without(after, alice)).toEqual(without(before, alice));
  });

  it.each(notLate)('%s: a renewal does not put back what has ended', async (name) => {
    const { semaphore, ended } = await scene();
    await reasons[name](semaphore);
    expect(is('finished', await ended.renew(ended.secret)).cause).toBe('expired');
    is('finished', await ended.renew(ended.secret));
  });

  it('STALE: a renewal that nobody waits for any more does nothing', async () => {
    const { semaphore, alice, ended } = await scene();
    await on.passInUse(semaphore, 10_000);
    const before = await on.stored(semaphore);
    await reasons.STALE(semaphore);
    await turnedBack(alice.renew(alice.secret));
    await turnedBack(ended.renew(ended.secret));
    expect(await on.stored(semaphore)).toEqual(before);
  });

  it.each([
    ['EPOCH', 'that ends while that one may is not renewed', 11_000, false],
    ['EPOCH', 'that lasts longer is renewed', 19_000, true],
    ['QUARANTINED', 'that ends while that one may is not renewed', 11_000, false],
    ['QUARANTINED', 'that lasts longer is renewed', 19_000, true],
  ])('%s, and another Redis may still be granting: a lease %s', async (reason, _, leftMs, isRenewed) => {
    const [overlapMs, ttlMs] = [12_000, 20_000];
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs });
    is('granted', await alice.try());
    await on.passInUse(lock, ttlMs - leftMs);
    const now = BigInt(await on.now());
    const pause = `${RUN} a 60000 ${overlapMs} ${now} ${now + QUARANTINE_US} 0 restarted`;
    if (reason === 'QUARANTINED') await change(lock, pause);
    server.epochArguments = [`${RUN} a 60000 ${overlapMs}`, NEVER];
    const before = await on.stored(lock);
    if (isRenewed) {
      expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(ttlMs);
    } else {
      await turnedBack(alice.renew(alice.secret));
      expect(await on.stored(lock)).toEqual(before);
    }
    is('released', await alice.release(alice.secret));
  });

  it('an offer is not taken while grants pause, and lapses', async () => {
    const lock = on.resource();
    const [alice, bob] = [await on.request('s1', lock), await on.request('s1', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    expect((await on.stored(lock)).records[bob.requestId]).toMatchObject({ s: 'O' });
    await reasons.QUARANTINED(lock);
    await turnedBack(bob.withdraw());
    expect((await on.stored(lock)).records[bob.requestId]).toMatchObject({ s: 'O' });
  });

  it.each(notLate)('%s: what a wait was granted and never heard of is not taken at its end', async (name) => {
    const lock = on.resource();
    const alice = await on.request('s1', lock);
    is('granted', await alice.try());
    await reasons[name](lock);
    await turnedBack(alice.withdraw());
    expect((await on.stored(lock)).records[alice.requestId]).toMatchObject({ s: 'D' });
    expect((await on.stored(lock)).sets.ends).toEqual([]);
  });

  it('a lease that seems over because the clock was set forward is renewed, while grants pause for that', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 20_000 });
    const bob = await on.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    await on.passInUse(lock, 60_000);
    await reasons.QUARANTINED(lock, 60_000_000n);
    expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(20_000);
    // What had ended before that stays so.
    await on.passInUse(lock, 81_000);
    is('finished', await alice.renew(alice.secret));
    await turnedBack(bob.try());
  });

  it('the end of a pause is seen by whoever comes first', async () => {
    const lock = on.resource();
    const now = BigInt(await on.now());
    await change(lock, `${RUN} a 60000 ${now - 9n} ${now - 1n} 0 restarted`);
    server.epochArguments = [`${RUN} a 60000 0`, NEVER];
    is('granted', await (await on.request('s1', lock)).try());
    // Spelt otherwise than expected, by a server that allows longer leases.
    await change(lock, `${RUN} w 90000 0`);
    is('refused', await (await on.request('s1', lock)).try());
  });
});
