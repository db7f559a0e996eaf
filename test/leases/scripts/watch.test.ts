import type { Resource } from '../../../src/leases/lease';
import { RESOURCE_CHANGED } from '../../../src/leases/redis/lease-keys';
import { eventually } from '../../support/eventually';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { OFFERED_TTL_MS, type Requester } from '../../support/leases/lease-requester';
import type { TestServer } from '../../support/leases/lease-server';
import { PARTS } from '../../support/leases/lease-stored';
import { is } from '../../support/reply-kinds';

describe('lease-watch', () => {
  let fixture: LeaseFixture;
  /** The server with watches. It sends the requests of the tests too, so its replies tell of changes. */
  let s1: TestServer;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
    s1 = await fixture.server('s1');
  });
  afterEach(() => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0'));
  afterAll(() => fixture.close());

  /** Runs a step, and returns how often its replies told of a change. */
  async function told(step: () => Promise<unknown>): Promise<number> {
    const before = s1.changed.length;
    await step();
    return s1.changed.length - before;
  }

  const watchers = async (resource: Resource) =>
    Object.keys((await fixture.stored(resource)).watchers).sort();
  const keysOf = async (resource: Resource) => {
    const found = PARTS.map(async (part) =>
      (await fixture.redis.command('EXISTS', fixture.key(resource, part))) === '1' ? [part] : [],
    );
    return (await Promise.all(found)).flat();
  };
  const pttl = async (resource: Resource) =>
    Number(await fixture.redis.command('PTTL', fixture.key(resource, 'state')));

  describe('shows', () => {
    it('what lease-inspect shows, with the time until the earliest end', async () => {
      const semaphore = fixture.resource('semaphore');
      const options = { permits: 2, initialLimit: 5, metadata: { at: 'ünïcode' } };
      is('granted', await (await fixture.request('s1', semaphore, { ...options, ttlMs: 9000 })).try());
      is('granted', await (await fixture.request('s1', semaphore, { ...options, ttlMs: 7000 })).try());
      is('waiting', await (await fixture.request('s1', semaphore, { ...options, holderId: 'bob' })).queue());
      const { view, earliestEndMs } = await s1.store.watch(semaphore);
      expect(view).toEqual(await s1.store.inspect(semaphore));
      expect(view).toMatchObject({ holderCount: 2, waiters: [{ holderId: 'bob' }] });
      expect(earliestEndMs).toBeCloseTo(7000, 2);
    });

    it('a free lock for an unused name, with no end', async () => {
      const { view, earliestEndMs } = await s1.store.watch(fixture.resource());
      expect(view).toMatchObject({ limit: undefined, holderCount: 0, waiterCount: 0, lastFencingToken: 0n });
      expect(earliestEndMs).toBeUndefined();
    });

    it('a limit that SetSemaphoreLimit has set, after the state of the semaphore has expired', async () => {
      const semaphore = fixture.resource('semaphore');
      is('set', await fixture.setLimit(semaphore, 4));
      await fixture.redis.command('DEL', fixture.key(semaphore, 'state'));
      expect((await s1.store.watch(semaphore)).view.limit).toBe(4);
      expect(await watchers(semaphore)).toEqual(['s1']);
    });

    it('no expired lease, and ends many expired leases first to count the permits in use', async () => {
      const semaphore = fixture.resource('semaphore');
      for (let i = 0; i < 70; i += 1) {
        const one = await fixture.request('s1', semaphore, { initialLimit: 100, ttlMs: 5000 });
        is('granted', await one.try());
      }
      await fixture.passInUse(semaphore, 5001);
      const { view, earliestEndMs } = await s1.store.watch(semaphore);
      expect(view).toMatchObject({ holderCount: 0, usedCount: 0 });
      expect(earliestEndMs).toBeUndefined();
    });

    it('the state in a quarantine, on another run of Redis, and without an epoch', async () => {
      const lock = fixture.resource();
      is('granted', await (await fixture.request('s1', lock, { holderId: 'alice' })).try());
      const key = fixture.epochKey(lock);
      const epoch = (await fixture.redis.command('GET', key)) as string;
      const run = `L2:${'f'.repeat(40)}`;
      const now = Number(await fixture.now());
      try {
        for (const other of [`${run} a 60000 0`, `${run} a 60000 0 ${now} ${now + 9e6} 0 restarted`]) {
          await fixture.redis.command('SET', key, other);
          expect((await s1.store.watch(lock)).view.holders).toMatchObject([{ holderId: 'alice' }]);
        }
        await fixture.redis.command('DEL', key);
        expect((await s1.store.watch(lock)).view.holders).toMatchObject([{ holderId: 'alice' }]);
        await fixture.redis.command('SET', key, `L9:${'f'.repeat(40)} a 60000 0`);
        await expect(s1.store.watch(lock)).rejects.toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
      } finally {
        await fixture.redis.command('SET', key, epoch);
      }
    });

    it('the state when the memory of Redis is full, and registers the server', async () => {
      const lock = fixture.resource();
      is('granted', await (await fixture.request('s1', lock, { holderId: 'alice' })).try());
      await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
      expect((await s1.store.watch(lock)).view.holders).toMatchObject([{ holderId: 'alice' }]);
      expect(await watchers(lock)).toEqual(['s1']);
    });
  });

  describe('registers a server', () => {
    it('for five seconds, and again after half of this time', async () => {
      const lock = fixture.resource();
      const time = async () => Number((await fixture.stored(lock)).watchers['s1']);
      await s1.store.watch(lock);
      const first = await time();
      await fixture.pass(lock, 2500);
      await s1.store.watch(lock);
      expect(await time()).toBe(first - 2_500_000);
      await fixture.pass(lock, 1);
      await s1.store.watch(lock);
      expect(await time()).toBe(first);
    });

    it('without an effect on the expiry of a used name, and for ten seconds on an unused name', async () => {
      const [used, unused] = [fixture.resource(), fixture.resource()];
      const alice = await fixture.request('s1', used);
      is('granted', await alice.try());
      const before = await fixture.redis.command('PEXPIRETIME', fixture.key(used, 'state'));
      await s1.store.watch(used);
      expect(await fixture.redis.command('PEXPIRETIME', fixture.key(used, 'state'))).toBe(before);
      await s1.store.watch(unused);
      expect(await keysOf(unused)).toEqual(['state']);
      expect(await pttl(unused)).toBeGreaterThan(0);
      expect(await pttl(unused)).toBeLessThanOrEqual(10_000);
      await fixture.redis.command('PEXPIRE', fixture.key(unused, 'state'), 5000);
      await fixture.pass(unused, 2501);
      await s1.store.watch(unused);
      expect(await pttl(unused)).toBeGreaterThan(5000);
      is('granted', await (await fixture.request('s1', unused)).try());
      expect(await pttl(unused)).toBeGreaterThan(3_600_000);
    });

    it('only for a semaphore that exists', async () => {
      const semaphore = fixture.resource('semaphore');
      expect((await s1.store.watch(semaphore)).view.limit).toBeUndefined();
      expect(await keysOf(semaphore)).toEqual([]);
      is('set', await fixture.setLimit(semaphore, 4));
      await s1.store.watch(semaphore);
      expect(await watchers(semaphore)).toEqual(['s1']);
    });

    it('no longer when the semaphore is deleted', async () => {
      const { semaphore } = await fixture.fullSemaphore(1);
      await s1.store.watch(semaphore);
      is('removed', await fixture.remove(semaphore, { force: true }));
      const time = async () => (await fixture.stored(semaphore)).watchers['s1'];
      await fixture.pass(semaphore, 4000);
      const before = await time();
      expect((await s1.store.watch(semaphore)).view.limit).toBeUndefined();
      expect(await time()).toBe(before);
    });

    it('beside at most 63 other servers, and forgets servers without a recent registration', async () => {
      const lock = fixture.resource();
      const register = `
        local servers = {}
        for i = 1, tonumber(ARGV[1]) do servers['other ' .. i] = tonumber(ARGV[2]) end
        redis.call('HSET', KEYS[1], 'w', cmsgpack.pack(servers))`;
      const others = async (count: number) =>
        fixture.redis.command('EVAL', register, 1, fixture.key(lock, 'state'), count, await fixture.now());
      await others(64);
      await s1.store.watch(lock);
      expect(await watchers(lock)).not.toContain('s1');
      await others(63);
      await s1.store.watch(lock);
      expect(await watchers(lock)).toHaveLength(64);
      await fixture.pass(lock, 2501);
      await s1.store.watch(lock);
      await fixture.pass(lock, 2501);
      await s1.store.watch(lock);
      await fixture.pass(lock, 2501);
      await s1.store.watch(lock);
      expect(await watchers(lock)).toEqual(['s1']);
    });

    it('again after Redis has lost the registration, and after its clock was set back', async () => {
      const lock = fixture.resource();
      await s1.store.watch(lock);
      await fixture.redis.command('DEL', fixture.key(lock, 'state'));
      await s1.store.watch(lock);
      expect(await watchers(lock)).toEqual(['s1']);
      await fixture.pass(lock, -60_000);
      expect(await told(async () => (await fixture.request('s1', lock)).try())).toBe(0);
      await s1.store.watch(lock);
      expect((await fixture.stored(lock)).watchers).toEqual({ s1: await fixture.now() });
    });
  });

  describe('after it, scripts tell the server', () => {
    /** A watched semaphore of five permits with a holder of `permits`. */
    async function watched(permits: number, options: { ttlMs?: number; stream?: boolean } = {}) {
      const semaphore = fixture.resource('semaphore');
      is('set', await fixture.setLimit(semaphore, 5));
      const holder = await fixture.request('s1', semaphore, { permits, ...options });
      is('granted', await holder.try());
      await s1.store.watch(semaphore);
      return { semaphore, holder };
    }

    it('of the first acquire of a name that was never used, and of its release', async () => {
      const lock = fixture.resource();
      await s1.store.watch(lock);
      const alice = await fixture.request('s1', lock);
      expect(await told(() => alice.try())).toBe(1);
      expect(await told(() => alice.release(alice.secret))).toBe(1);
    });

    it('of no renewal, repeat, refusal, touch or takeover', async () => {
      const { semaphore, holder } = await watched(3, { stream: true });
      const waiter = await fixture.request('s1', semaphore, { permits: 4, metadata: { a: '1' } });
      is('waiting', await waiter.queue());
      const again = { requestId: holder.requestId, permits: 3, stream: true };
      const takingOver = await fixture.request('s1', semaphore, again);
      const count = await told(async () => {
        is('granted', await holder.renew(holder.secret, 50_000));
        is('granted', await holder.keepAlive(holder.secret));
        is('granted', await holder.try());
        is('waiting', await waiter.queue());
        is('waiting', await waiter.claim());
        is('refused', await (await fixture.request('s1', semaphore, { permits: 5 })).try());
        is('never-fits', await (await fixture.request('s1', semaphore, { permits: 6 })).try());
        is('gone', await holder.release('another secret'));
        is('granted', await takingOver.takeOver(holder.secret));
        is('limit-mismatch', await fixture.setLimit(semaphore, 9, { expectedLimit: 3 }));
        is('set', await fixture.setLimit(semaphore, 5));
        is('in-use', await fixture.remove(semaphore));
        await waiter.touch();
      });
      expect(count).toBe(0);
    });

    it("of a holder's new metadata, and of a revocation without force", async () => {
      const { semaphore, holder } = await watched(1);
      expect(await told(() => holder.renew(holder.secret, undefined, { at: 'two' }))).toBe(1);
      expect(await told(() => holder.renew(holder.secret, undefined, { at: 'two' }))).toBe(0);
      const command = { target: { kind: 'all-holders' }, force: false, after: undefined } as const;
      expect(await told(() => s1.store.revoke(semaphore, command))).toBe(1);
    });

    it('of a new waiter, of its new metadata, and of its end', async () => {
      const { semaphore } = await watched(5);
      const waiter = await fixture.request('s1', semaphore, { metadata: { at: 'one' } });
      expect(await told(() => waiter.queue())).toBe(1);
      const repeat = { requestId: waiter.requestId, metadata: { at: 'two' } };
      const moved = await fixture.request('s1', semaphore, repeat);
      expect(await told(() => moved.queue())).toBe(1);
      expect(await told(() => moved.withdraw())).toBe(1);
      expect(await told(() => moved.queue())).toBe(1);
      // The place of a detached request is not shown.
      is('withdrawn', await moved.withdraw());
      expect(await told(() => moved.withdraw())).toBe(0);
      for (let i = 0; i < 5; i += 1) {
        await s1.store.watch(semaphore);
        await fixture.passInUse(semaphore, 2001);
      }
      expect(await told(() => s1.store.touch(semaphore, []))).toBe(0);
      expect(await fixture.idsIn(semaphore, 'detached')).toEqual([]);
    });

    it('of a direct grant, an offer, its claim and its end', async () => {
      const { semaphore, holder } = await watched(5);
      const direct = await fixture.request('s1', semaphore, { permits: 5 });
      is('waiting', await direct.queue());
      expect(await told(() => holder.release(holder.secret))).toBe(1);
      const offered = await fixture.request('s1', semaphore, { permits: 5, ttlMs: OFFERED_TTL_MS });
      is('waiting', await offered.queue());
      const { secret } = s1.grants.at(-1)?.grant ?? direct;
      expect(await told(() => direct.release(secret))).toBe(1);
      expect(await told(async () => is('granted', await offered.claim()))).toBe(1);
      const late = await fixture.request('s1', semaphore, { ttlMs: OFFERED_TTL_MS });
      is('waiting', await late.queue());
      is('released', await offered.release(offered.secret));
      await fixture.passInUse(semaphore, 3001);
      await fixture.beat(semaphore, 's1');
      expect(await told(() => s1.store.touch(semaphore, []))).toBe(1);
    });

    it('of an offer that lapsed in a stall and gets more time', async () => {
      const { semaphore, holder } = await watched(5);
      const offered = await fixture.request('s1', semaphore, { ttlMs: OFFERED_TTL_MS });
      is('waiting', await offered.queue());
      is('released', await holder.release(holder.secret));
      await fixture.pass(semaphore, 3100);
      expect((await s1.store.watch(semaphore)).view.holderCount).toBe(0);
      expect(await told(() => s1.store.touch(semaphore, []))).toBe(1);
      expect((await s1.store.watch(semaphore)).view.holderCount).toBe(1);
    });

    it('of an expired lease that the next script ends', async () => {
      const { semaphore } = await watched(2, { ttlMs: 4000 });
      await fixture.passInUse(semaphore, 4001);
      expect(await told(() => s1.store.touch(semaphore, []))).toBe(1);
      expect(await told(() => s1.store.touch(semaphore, []))).toBe(0);
    });

    it('of another limit, of recalled offers, and of waiters that never fit', async () => {
      const { semaphore, holder } = await watched(3);
      expect(await told(() => fixture.setLimit(semaphore, 6))).toBe(1);
      const [big, small] = [
        await fixture.request('s1', semaphore, { permits: 6, ttlMs: OFFERED_TTL_MS }),
        await fixture.request('s1', semaphore, { permits: 1 }),
      ];
      is('waiting', await big.queue());
      is('waiting', await small.queue());
      is('released', await holder.release(holder.secret));
      expect(await fixture.idsIn(semaphore, 'offers')).toEqual([big.requestId]);
      expect(await told(() => fixture.setLimit(semaphore, 2))).toBe(1);
      expect(await fixture.idsIn(semaphore, 'queue')).toEqual([]);
    });

    it('of a deletion and of each batch of its work', async () => {
      const { semaphore } = await watched(1);
      const waiters = await fixture.requests(70, 's1', semaphore, { permits: 5 });
      for (const waiter of waiters) is('waiting', await waiter.queue());
      expect(await told(() => fixture.remove(semaphore, { force: true }))).toBe(1);
      expect(await told(() => s1.store.touch(semaphore, []))).toBe(1);
      expect(await told(() => s1.store.touch(semaphore, []))).toBe(0);
    });

    it('of a deletion of a semaphore without holders', async () => {
      const { semaphore, holder } = await watched(1);
      is('released', await holder.release(holder.secret));
      expect(await told(() => fixture.remove(semaphore))).toBe(1);
    });

    it('of dead waiters that are detached', async () => {
      const { semaphore, holder } = await watched(5);
      is('waiting', await (await fixture.request('s2', semaphore, { permits: 5 })).queue());
      for (let i = 0; i < 9; i += 1) {
        await fixture.passInUse(semaphore, 500);
        await s1.store.watch(semaphore);
      }
      expect(await told(() => holder.release(holder.secret))).toBe(1);
      expect(await fixture.idsIn(semaphore, 'queue')).toEqual([]);
    });

    it('until its registration has expired, and then remove the field', async () => {
      const lock = fixture.resource();
      await s1.store.watch(lock);
      const alice = await fixture.request('s1', lock);
      await fixture.pass(lock, 5000);
      expect(await told(() => alice.try())).toBe(1);
      await fixture.passInUse(lock, 1);
      expect(await told(() => alice.release(alice.secret))).toBe(0);
      const fields = await fixture.redis.command('HKEYS', fixture.key(lock, 'state'));
      expect(fields).not.toContain('w');
    });

    it('also while grants pause', async () => {
      const { holder } = await watched(3);
      try {
        s1.epochArguments = [`L2:${'e'.repeat(40)} a 60000 0`, Number.MAX_SAFE_INTEGER];
        expect(await told(() => holder.release(holder.secret))).toBe(1);
      } finally {
        s1.epochArguments = undefined;
        const epoch = await fixture.redis.command('GET', fixture.epochKey({ service: 'lock', name: '' }));
        s1.epochArguments = [epoch as string, Number.MAX_SAFE_INTEGER];
      }
    });

    it('by a hint if another server runs the script, and no server without a registration', async () => {
      const lock = fixture.resource();
      const [s2, s3] = [await fixture.server('s2'), await fixture.server('s3')];
      await fixture.listen(s2);
      await fixture.listen(s3);
      await s2.store.watch(lock);
      const before = s2.hinted.length;
      const changes = () => s2.hinted.slice(before).filter((id) => id === RESOURCE_CHANGED).length;
      const alice: Requester = await fixture.request('s1', lock);
      expect(await told(() => alice.try())).toBe(0);
      await eventually('a hint', () => changes() === 1);
      is('released', await alice.release(alice.secret));
      await eventually('the next hint', () => changes() === 2);
      expect(s3.hinted).toEqual([]);
    });
  });
});
