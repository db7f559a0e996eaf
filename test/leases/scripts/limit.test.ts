import { leaseLimit } from '../../../generated/redis/scripts';
import type { Resource } from '../../../src/leases/lease';
import { eventually } from '../../support/eventually';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import { OFFERED_TTL_MS, type Requester } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';

const BATCH = 64;

describe('lease-limit', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    // Hundreds of commands are in flight at the same time.
    fixture = await LeaseFixture.open({ commandTimeoutMs: 20_000, frozenClock: true });
  });
  afterAll(() => fixture.close());

  async function waiters(count: number, server: string, semaphore: Resource, permits = 1) {
    const all = await fixture.requests(count, server, semaphore, { permits, ttlMs: OFFERED_TTL_MS });
    await Promise.all(all.map(async (waiter) => is('waiting', await waiter.queue())));
    return all;
  }

  async function waiter(server: string, semaphore: Resource, permits = 1): Promise<Requester> {
    const [one] = await waiters(1, server, semaphore, permits);
    return one as Requester;
  }

  const ids = (requesters: readonly Requester[]) => requesters.map(({ requestId }) => requestId);

  describe('for a new semaphore', () => {
    it('creates the semaphore and returns its state', async () => {
      const semaphore = fixture.resource('semaphore');
      const { view } = is('set', await fixture.setLimit(semaphore, 7));
      expect(view).toMatchObject({ limit: 7, usedCount: 0, lastFencingToken: 0n, holders: [], waiters: [] });
      is('granted', await (await fixture.request('s2', semaphore, { permits: 7 })).try());
    });

    it('accepts 0 and the largest int32', async () => {
      const semaphore = fixture.resource('semaphore');
      is('set', await fixture.setLimit(semaphore, 0));
      is('refused', await (await fixture.request('s1', semaphore)).try());
      is('set', await fixture.setLimit(semaphore, 2 ** 31 - 1));
      is('granted', await (await fixture.request('s1', semaphore, { permits: 2 ** 31 - 1 })).try());
      is('refused', await (await fixture.request('s1', semaphore)).try());
    });
  });

  describe('with an expected limit', () => {
    it('sets the limit if the expected limit is in force', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 3);
      expect(is('set', await fixture.setLimit(semaphore, 5, { expectedLimit: 3 })).view.limit).toBe(5);
    });

    it('answers MISMATCH with the limit in force if the expected limit differs, and changes nothing', async () => {
      const { semaphore } = await fixture.fullSemaphore(3);
      await waiter('s1', semaphore);
      const before = await fixture.stored(semaphore);
      expect(await fixture.setLimit(semaphore, 5, { expectedLimit: 2 })).toEqual({
        kind: 'limit-mismatch',
        limit: 3,
      });
      const after = await fixture.stored(semaphore);
      expect([after.records, after.sets.queue, after.numbers.limit]).toEqual([
        before.records,
        before.sets.queue,
        '3',
      ]);
      expect(await fixture.redis.command('GET', fixture.limitKey(semaphore))).toBe('3');
    });

    it('answers SET again after a lost reply, although the expected limit is no longer in force', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 3);
      for (let time = 0; time < 2; time += 1)
        expect(is('set', await fixture.setLimit(semaphore, 5, { expectedLimit: 3 })).view.limit).toBe(5);
    });

    it('answers UNKNOWN for a semaphore that does not exist, and stores nothing', async () => {
      const semaphore = fixture.resource('semaphore');
      expect(await fixture.setLimit(semaphore, 5, { expectedLimit: 0 })).toEqual({
        kind: 'unknown-resource',
      });
      expect(
        await fixture.redis.command('EXISTS', fixture.limitKey(semaphore), fixture.key(semaphore, 'state')),
      ).toBe('0');
    });
  });

  describe('when it raises the limit', () => {
    it('offers permits to waiters of two servers, and sends a hint to the other server', async () => {
      const { semaphore } = await fixture.fullSemaphore(1);
      const s2 = await fixture.server('s2');
      await fixture.listen(s2);
      const [own, others] = [await waiter('s1', semaphore), await waiter('s2', semaphore)];
      const last = await waiter('s1', semaphore);
      const s1 = await fixture.server('s1');
      s1.rechecks = [];
      const { view } = is('set', await fixture.setLimit(semaphore, 3));
      expect(view).toMatchObject({ limit: 3, usedCount: 3, waiterCount: 1 });
      expect(s1.rechecks).toEqual([own.requestId]);
      await eventually('the hint', () => s2.hinted.includes(others.requestId));
      const first = is('granted', await own.claim());
      expect(is('granted', await others.claim()).fencingToken).toBeGreaterThan(first.fencingToken);
      expect(is('waiting', await last.claim()).position).toBe(1);
    });

    it('offers nothing to later waiters while the head of the queue does not fit', async () => {
      const { semaphore } = await fixture.fullSemaphore(4);
      const heavy = await waiter('s1', semaphore, 4);
      const light = await waiter('s1', semaphore);
      is('set', await fixture.setLimit(semaphore, 7));
      is('waiting', await light.claim());
      is('set', await fixture.setLimit(semaphore, 8));
      is('granted', await heavy.claim());
      is('waiting', await light.claim());
    });

    it('makes 64 offers in one script and answers `more`', async () => {
      const { semaphore } = await fixture.fullSemaphore(1);
      const all = await waiters(150, 's1', semaphore);
      const server = await fixture.server('s1');
      const before = server.mores;
      is('set', await fixture.setLimit(semaphore, 1000));
      expect(server.mores).toBe(before + 1);
      const counts = await fixture.finishBatches(
        semaphore,
        async () => (await fixture.idsIn(semaphore, 'offers')).length,
      );
      expect(counts).toEqual([2 * BATCH, 150]);
      const tokens: bigint[] = [];
      for (const one of all) tokens.push(is('granted', await one.claim()).fencingToken);
      expect([...tokens].sort((a, b) => Number(a - b))).toEqual(tokens);
    });
  });

  describe('when it lowers the limit', () => {
    it('takes nothing from holders, and grants nothing until their permits fit into the limit', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 5);
      const two = await fixture.request('s1', semaphore, { permits: 2 });
      const three = await fixture.request('s2', semaphore, { permits: 3 });
      is('granted', await two.try());
      is('granted', await three.try());
      expect(is('set', await fixture.setLimit(semaphore, 2)).view).toMatchObject({ limit: 2, usedCount: 5 });
      is('granted', await two.renew(two.secret));
      expect(is('granted', await three.renew(three.secret, 60_000)).remainingMs).toBe(60_000);
      const next = await waiter('s1', semaphore);
      is('released', await three.release(three.secret));
      is('waiting', await next.claim());
      is('refused', await (await fixture.request('s1', semaphore)).try());
      is('released', await two.release(two.secret));
      is('granted', await next.claim());
    });

    it('returns waiters with offers to their places in the queue, if the offers exceed the limit', async () => {
      const { semaphore, holder } = await fixture.fullSemaphore(4);
      const four = await waiters(4, 's1', semaphore);
      const [a, b, c, d] = four as [Requester, Requester, Requester, Requester];
      const fifth = await waiter('s2', semaphore);
      await holder.release(holder.secret);
      expect(await fixture.idsIn(semaphore, 'offers')).toEqual(expect.arrayContaining(ids(four)));
      const { view } = is('set', await fixture.setLimit(semaphore, 2));
      expect(view).toMatchObject({ usedCount: 2, holderCount: 2, waiterCount: 3 });
      expect(await fixture.idsIn(semaphore, 'queue')).toEqual(ids([c, d, fifth]));
      const { ticket } = d;
      expect(is('waiting', await d.claim())).toMatchObject({ position: 2, ticket });
      const tokens = [];
      for (const [left, next] of [
        [a, c],
        [b, d],
        [c, fifth],
      ] as const) {
        tokens.push(is('granted', await left.claim()).fencingToken);
        is('waiting', await fifth.claim());
        is('released', await left.release(left.secret));
        expect(await fixture.idsIn(semaphore, 'offers')).toContain(next.requestId);
      }
      expect([...tokens].sort((x, y) => Number(x - y))).toEqual(tokens);
      is('granted', await d.claim());
      is('granted', await fifth.claim());
    });

    it('takes back more than 64 offers in batches, and grants nothing before the last batch', async () => {
      const { semaphore, holder } = await fixture.fullSemaphore(150);
      const all = await waiters(150, 's1', semaphore);
      await holder.release(holder.secret);
      await fixture.finishBatches(semaphore, () => Promise.resolve());
      expect(await fixture.idsIn(semaphore, 'offers')).toHaveLength(150);
      const server = await fixture.server('s1');
      server.answers.splice(0);
      const before = server.mores;
      is('set', await fixture.setLimit(semaphore, 10));
      expect(server.mores).toBe(before + 1);
      expect(await fixture.idsIn(semaphore, 'offers')).toHaveLength(150 - BATCH);
      await fixture.finishBatches(semaphore, () => Promise.resolve());
      expect(server.answers.map(({ word }) => word).slice(0, 3)).toEqual(['SET', 'AGAIN', 'DONE']);
      expect(new Set(await fixture.idsIn(semaphore, 'offers'))).toEqual(new Set(ids(all.slice(0, 10))));
      expect(await fixture.idsIn(semaphore, 'queue')).toEqual(ids(all.slice(10)));
    });

    const between: [string, (one: Requester) => Promise<{ kind: string }>, string][] = [
      ['claim', (one) => one.claim(), 'waiting'],
      ['withdrawal', (one) => one.withdraw(), 'withdrawn'],
      ['give-back', (one) => one.giveBack(), 'withdrawn'],
      ['repeated acquire', (one) => one.queue(), 'waiting'],
    ];
    it.each(between)(
      'finishes all batches before it answers a %s that arrives between two batches',
      async (_, act, kind) => {
        const { semaphore, holder } = await fixture.fullSemaphore(150);
        const all = await waiters(150, 's2', semaphore);
        await holder.release(holder.secret);
        await fixture.finishBatches(semaphore, () => Promise.resolve());
        expect(await fixture.step(leaseLimit, semaphore, 10, '', 16)).toBe('SET');
        expect(await fixture.idsIn(semaphore, 'offers')).toHaveLength(150 - BATCH);
        // The last waiter still has its offer.
        expect((await act(all[149] as Requester)).kind).toBe(kind);
        expect((await fixture.stored(semaphore)).numbers).toMatchObject({ limit: '10', used: '10' });
        expect(new Set(await fixture.idsIn(semaphore, 'offers'))).toEqual(new Set(ids(all.slice(0, 10))));
      },
    );

    it('lets a holder release between two batches while grants are refused, and continues no batch', async () => {
      const { semaphore, holder } = await fixture.fullSemaphore(150);
      await waiters(149, 's2', semaphore);
      await holder.release(holder.secret);
      await fixture.finishBatches(semaphore, () => Promise.resolve());
      const last = await fixture.request('s1', semaphore);
      is('granted', await last.try());
      expect(await fixture.step(leaseLimit, semaphore, 10, '', 16)).toBe('SET');
      const server = await fixture.server('s1');
      const known = server.epochArguments;
      server.epochArguments = ['L2:another-run w 0 0', Number.MAX_SAFE_INTEGER];
      try {
        is('released', await last.release(last.secret));
      } finally {
        server.epochArguments = known;
      }
      expect(await fixture.idsIn(semaphore, 'offers')).toHaveLength(149 - BATCH);
    });

    it('removes waiters that never fit, notifies their servers, and moves the other waiters up', async () => {
      const { semaphore } = await fixture.fullSemaphore(5);
      const [s1, s2] = [await fixture.server('s1'), await fixture.server('s2')];
      await fixture.listen(s2);
      const own = await waiter('s1', semaphore, 4);
      const others = await waiter('s2', semaphore, 5);
      const fits = await waiter('s2', semaphore, 3);
      s1.rechecks = [];
      const { view } = is('set', await fixture.setLimit(semaphore, 3));
      expect(view).toMatchObject({ waiterCount: 1, waiters: [{ permitCount: 3, position: 1 }] });
      expect(s1.rechecks).toEqual([own.requestId]);
      await eventually('the hint', () => s2.hinted.includes(others.requestId));
      expect((await others.touch()).waiters).toEqual(['recheck']);
      for (const one of [own, others]) expect(await one.claim()).toEqual({ kind: 'never-fits', limit: 3 });
      expect(is('waiting', await fits.claim()).position).toBe(1);
      expect((await fixture.stored(semaphore)).numbers.moving).toBeUndefined();
    });

    it('walks a queue of 251 waiters in batches of 64, and offers the permits to the waiter that fits', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 8);
      is('granted', await (await fixture.request('s1', semaphore, { permits: 4 })).try());
      const misfits = await waiters(250, 's1', semaphore, 6);
      const small = await waiter('s1', semaphore);
      const server = await fixture.server('s1');
      const before = server.mores;
      server.rechecks = [];
      const queued = async () => (await fixture.idsIn(semaphore, 'queue')).length;
      is('set', await fixture.setLimit(semaphore, 5));
      expect(server.mores).toBe(before + 1);
      expect(await queued()).toBe(251 - BATCH);
      expect(await fixture.finishBatches(semaphore, queued)).toEqual([251 - 2 * BATCH, 251 - 3 * BATCH, 0]);
      expect(server.rechecks).toEqual(ids([...misfits, small]));
      is('granted', await small.claim());
    });

    it('begins a new walk at the head of the queue if the limit is lowered again before the end of a walk', async () => {
      const { semaphore } = await fixture.fullSemaphore(4);
      const three = await waiter('s1', semaphore, 3);
      await waiters(100, 's1', semaphore, 1);
      for (const limit of [3, 2]) is('set', await fixture.setLimit(semaphore, limit));
      await fixture.finishBatches(semaphore, () => Promise.resolve());
      expect(await fixture.idsIn(semaphore, 'queue')).not.toContain(three.requestId);
    });

    it('keeps the offers, if the permits in use fit the lower limit', async () => {
      const { semaphore, holder } = await fixture.fullSemaphore(4);
      const first = await waiter('s1', semaphore, 2);
      await holder.release(holder.secret);
      const { token } = (await fixture.stored(semaphore)).numbers;
      is('set', await fixture.setLimit(semaphore, 2));
      expect(String(is('granted', await first.claim()).fencingToken)).toBe(token);
    });

    it('answers NEVER_FITS to a detached waiter that queues or claims again', async () => {
      const { semaphore } = await fixture.fullSemaphore(5);
      const [asks, claims] = [await waiter('s1', semaphore, 5), await waiter('s1', semaphore, 5)];
      for (const one of [asks, claims]) is('withdrawn', await one.withdraw());
      await fixture.setLimit(semaphore, 4);
      expect(await asks.queue()).toEqual({ kind: 'never-fits', limit: 4 });
      expect(await claims.claim()).toEqual({ kind: 'never-fits', limit: 4 });
      expect(Object.keys((await fixture.stored(semaphore)).records)).toHaveLength(1);
      expect(brokenInvariants(await fixture.stored(semaphore))).toEqual([]);
    });
  });

  describe('with a limit of 0', () => {
    it('takes all offers back and lets every request wait', async () => {
      const { semaphore, holder } = await fixture.fullSemaphore(2);
      const offered = await waiter('s1', semaphore);
      await holder.release(holder.secret);
      expect(is('set', await fixture.setLimit(semaphore, 0)).view).toMatchObject({
        usedCount: 0,
        waiterCount: 1,
      });
      expect(is('waiting', await offered.claim()).position).toBe(1);
      is('waiting', await (await fixture.request('s1', semaphore, { permits: 100 })).queue());
      is('refused', await (await fixture.request('s1', semaphore)).try());
      is('set', await fixture.setLimit(semaphore, 1));
      is('granted', await offered.claim());
    });

    it('removes waiters that never fit and grants to the other waiters in order, when the limit is raised again', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 0);
      const first = await waiter('s1', semaphore, 2);
      const tooMuch = await waiter('s1', semaphore, 10);
      const second = await waiter('s1', semaphore);
      const server = await fixture.server('s1');
      server.rechecks = [];
      expect(is('set', await fixture.setLimit(semaphore, 3)).view).toMatchObject({
        usedCount: 3,
        waiterCount: 0,
      });
      expect(server.rechecks).toEqual(ids([tooMuch, first, second]));
      expect(await tooMuch.claim()).toEqual({ kind: 'never-fits', limit: 3 });
      const { fencingToken } = is('granted', await first.claim());
      expect(is('granted', await second.claim()).fencingToken).toBeGreaterThan(fencingToken);
    });

    it('takes nothing from holders', async () => {
      const { semaphore, holder } = await fixture.fullSemaphore(2);
      expect(is('set', await fixture.setLimit(semaphore, 0)).view).toMatchObject({ limit: 0, usedCount: 2 });
      is('granted', await holder.renew(holder.secret));
      is('released', await holder.release(holder.secret));
    });
  });

  describe('in competition with initial limits of requests', () => {
    it('overrides the initial limits of later requests', async () => {
      const semaphore = fixture.resource('semaphore');
      const want = (permits: number) => fixture.request('s1', semaphore, { permits, initialLimit: 100 });
      await fixture.setLimit(semaphore, 2);
      expect(await (await want(3)).try()).toEqual({ kind: 'never-fits', limit: 2 });
      is('granted', await (await want(2)).try());
      is('refused', await (await want(1)).try());
    });

    it('changes a limit that a request created', async () => {
      const semaphore = fixture.resource('semaphore');
      is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 1 })).try());
      is('set', await fixture.setLimit(semaphore, 2, { expectedLimit: 1 }));
      is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 1 })).try());
    });

    it('keeps the limit when the other keys of the semaphore are deleted', async () => {
      const { semaphore } = await fixture.fullSemaphore(2);
      expect(await fixture.redis.command('PTTL', fixture.limitKey(semaphore))).toBe('-1');
      await fixture.redis.command('DEL', fixture.key(semaphore, 'state'));
      const store = (await fixture.server('s1')).store;
      expect(await store.inspect(semaphore)).toMatchObject({ limit: 2, usedCount: 0 });
      const greedy = await fixture.request('s1', semaphore, { permits: 3, initialLimit: 100 });
      expect(await greedy.try()).toEqual({ kind: 'never-fits', limit: 2 });
      is('granted', await (await fixture.request('s1', semaphore, { permits: 2 })).try());
    });
  });
});
