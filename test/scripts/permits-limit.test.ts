import { permitsLimit } from '../../generated/redis/scripts';
import type { Resource } from '../../src/engine/leases/lease';
import { eventually } from '../support/eventually';
import { PermitsFixture } from '../support/permits-fixture';
import type { Requester } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

const BATCH = 64;

describe('permits-limit', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    // Hundreds of commands are under way at once.
    on = await PermitsFixture.open({ commandTimeoutMs: 20_000 });
  });
  afterAll(() => on.close());

  /** A semaphore of that limit, all of which one holder has. */
  async function full(limit: number) {
    const semaphore = on.resource('semaphore');
    is('set', await on.setLimit(semaphore, limit));
    const holder = await on.request('s1', semaphore, { permits: limit });
    is('granted', await holder.try());
    return { semaphore, holder };
  }

  async function waiters(count: number, server: string, semaphore: Resource, permits = 1) {
    const all = await on.requests(count, server, semaphore, { permits });
    await Promise.all(all.map(async (waiter) => is('waiting', await waiter.queue())));
    return all;
  }

  async function waiter(server: string, semaphore: Resource, permits = 1): Promise<Requester> {
    const [one] = await waiters(1, server, semaphore, permits);
    return one as Requester;
  }

  const ids = (requesters: readonly Requester[]) => requesters.map(({ requestId }) => requestId);
  const idsIn = async (semaphore: Resource, set: 'queue' | 'offers') =>
    (await on.stored(semaphore)).sets[set].map(({ id }) => id);

  /** Goes on where a bounded step stopped, and answers what `look` sees after each. */
  async function goOn<T>(semaphore: Resource, look: () => Promise<T>): Promise<T[]> {
    const server = await on.server('s1');
    const seen: T[] = [];
    for (let more = true; more;) {
      const before = server.mores;
      await server.store.touch(semaphore, []);
      more = server.mores > before;
      seen.push(await look());
    }
    return seen;
  }

  describe('set for the first time', () => {
    it('creates the semaphore, and shows it', async () => {
      const semaphore = on.resource('semaphore');
      const { view } = is('set', await on.setLimit(semaphore, 7));
      expect(view).toMatchObject({ limit: 7, usedCount: 0, lastFencingToken: 0n, holders: [], waiters: [] });
      is('granted', await (await on.request('s2', semaphore, { permits: 7 })).try());
    });

    it('may be 0, and as much as an int32 holds', async () => {
      const semaphore = on.resource('semaphore');
      is('set', await on.setLimit(semaphore, 0));
      is('refused', await (await on.request('s1', semaphore)).try());
      is('set', await on.setLimit(semaphore, 2 ** 31 - 1));
      is('granted', await (await on.request('s1', semaphore, { permits: 2 ** 31 - 1 })).try());
      is('refused', await (await on.request('s1', semaphore)).try());
    });
  });

  describe('expected to be another before', () => {
    it('is set where it is the expected one', async () => {
      const semaphore = on.resource('semaphore');
      await on.setLimit(semaphore, 3);
      expect(is('set', await on.setLimit(semaphore, 5, { expectedLimit: 3 })).view.limit).toBe(5);
    });

    it('is left alone where it is not, and the answer names the limit in force', async () => {
      const { semaphore } = await full(3);
      await waiter('s1', semaphore);
      const before = await on.stored(semaphore);
      expect(await on.setLimit(semaphore, 5, { expectedLimit: 2 })).toEqual({
        kind: 'limit-mismatch',
        limit: 3,
      });
      const after = await on.stored(semaphore);
      expect([after.records, after.sets.queue, after.numbers.limit]).toEqual([
        before.records,
        before.sets.queue,
        '3',
      ]);
      expect(await on.redis.command('GET', on.limitKey(semaphore))).toBe('3');
    });

    it('is set again after a lost reply, though the expected one is in force no more', async () => {
      const semaphore = on.resource('semaphore');
      await on.setLimit(semaphore, 3);
      for (let time = 0; time < 2; time += 1)
        expect(is('set', await on.setLimit(semaphore, 5, { expectedLimit: 3 })).view.limit).toBe(5);
    });

    it('is not created where there is none, and nothing is stored', async () => {
      const semaphore = on.resource('semaphore');
      expect(await on.setLimit(semaphore, 5, { expectedLimit: 0 })).toEqual({ kind: 'unknown-resource' });
      expect(await on.redis.command('EXISTS', on.limitKey(semaphore), on.key(semaphore, 'state'))).toBe('0');
    });
  });

  describe('raised', () => {
    it('offers to the waiters of both servers at once, and hints at the other', async () => {
      const { semaphore } = await full(1);
      const s2 = await on.server('s2');
      await on.listen(s2);
      const [own, others] = [await waiter('s1', semaphore), await waiter('s2', semaphore)];
      const last = await waiter('s1', semaphore);
      const s1 = await on.server('s1');
      s1.looks = [];
      const { view } = is('set', await on.setLimit(semaphore, 3));
      expect(view).toMatchObject({ limit: 3, usedCount: 3, waiterCount: 1 });
      expect(s1.looks).toEqual([own.requestId]);
      await eventually('the hint', () => s2.hinted.includes(others.requestId));
      const first = is('granted', await own.claim());
      expect(is('granted', await others.claim()).fencingToken).toBeGreaterThan(first.fencingToken);
      expect(is('waiting', await last.claim()).position).toBe(1);
    });

    it('does not let those pass who would fit before the head of the queue does', async () => {
      const { semaphore } = await full(4);
      const heavy = await waiter('s1', semaphore, 4);
      const light = await waiter('s1', semaphore);
      is('set', await on.setLimit(semaphore, 7));
      is('waiting', await light.claim());
      is('set', await on.setLimit(semaphore, 8));
      is('granted', await heavy.claim());
      is('waiting', await light.claim());
    });

    it('offers 64 at a time, and asks to be called again', async () => {
      const { semaphore } = await full(1);
      const all = await waiters(150, 's1', semaphore);
      const server = await on.server('s1');
      const before = server.mores;
      is('set', await on.setLimit(semaphore, 1000));
      expect(server.mores).toBe(before + 1);
      const counts = await goOn(semaphore, async () => (await idsIn(semaphore, 'offers')).length);
      expect(counts).toEqual([2 * BATCH, 150]);
      const tokens: bigint[] = [];
      for (const one of all) tokens.push(is('granted', await one.claim()).fencingToken);
      expect([...tokens].sort((a, b) => Number(a - b))).toEqual(tokens);
    });
  });

  describe('lowered', () => {
    it('takes nothing from holders, and grants nothing until what they hold fits', async () => {
      const semaphore = on.resource('semaphore');
      await on.setLimit(semaphore, 5);
      const two = await on.request('s1', semaphore, { permits: 2 });
      const three = await on.request('s2', semaphore, { permits: 3 });
      is('granted', await two.try());
      is('granted', await three.try());
      expect(is('set', await on.setLimit(semaphore, 2)).view).toMatchObject({ limit: 2, usedCount: 5 });
      is('granted', await two.renew(two.secret));
      expect(is('granted', await three.renew(three.secret, 60_000)).remainingMs).toBe(60_000);
      const next = await waiter('s1', semaphore);
      is('released', await three.release(three.secret));
      is('waiting', await next.claim());
      is('refused', await (await on.request('s1', semaphore)).try());
      is('released', await two.release(two.secret));
      is('granted', await next.claim());
    });

    it('takes what was offered back to its own places: who claims then waits, and the order stays', async () => {
      const { semaphore, holder } = await full(4);
      const four = await waiters(4, 's1', semaphore);
      const [a, b, c, d] = four as [Requester, Requester, Requester, Requester];
      const fifth = await waiter('s2', semaphore);
      await holder.release(holder.secret);
      expect(await idsIn(semaphore, 'offers')).toEqual(expect.arrayContaining(ids(four)));
      const { view } = is('set', await on.setLimit(semaphore, 2));
      expect(view).toMatchObject({ usedCount: 2, holderCount: 2, waiterCount: 3 });
      expect(await idsIn(semaphore, 'queue')).toEqual(ids([c, d, fifth]));
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
        expect(await idsIn(semaphore, 'offers')).toContain(next.requestId);
      }
      expect([...tokens].sort((x, y) => Number(x - y))).toEqual(tokens);
      is('granted', await d.claim());
      is('granted', await fifth.claim());
    });

    it('takes more than 64 offers back in bounded steps, before it grants or tells anything', async () => {
      const { semaphore, holder } = await full(150);
      const all = await waiters(150, 's1', semaphore);
      await holder.release(holder.secret);
      await goOn(semaphore, () => Promise.resolve());
      expect(await idsIn(semaphore, 'offers')).toHaveLength(150);
      const server = await on.server('s1');
      server.answers.splice(0);
      const before = server.mores;
      is('set', await on.setLimit(semaphore, 10));
      expect(server.mores).toBe(before + 1);
      expect(await idsIn(semaphore, 'offers')).toHaveLength(150 - BATCH);
      await goOn(semaphore, () => Promise.resolve());
      expect(server.answers.map(({ word }) => word).slice(0, 3)).toEqual(['SET', 'AGAIN', 'DONE']);
      expect(new Set(await idsIn(semaphore, 'offers'))).toEqual(new Set(ids(all.slice(0, 10))));
      expect(await idsIn(semaphore, 'queue')).toEqual(ids(all.slice(10)));
    });

    const between: [string, (one: Requester) => Promise<{ kind: string }>, string][] = [
      ['claims what it was offered', (one) => one.claim(), 'waiting'],
      ['withdraws', (one) => one.withdraw(), 'withdrawn'],
      ['gives back', (one) => one.giveBack(), 'withdrawn'],
      ['repeats its request', (one) => one.queue(), 'waiting'],
    ];
    it.each(between)('whoever %s between two steps is answered after the last', async (_, act, kind) => {
      const { semaphore, holder } = await full(150);
      const all = await waiters(150, 's2', semaphore);
      await holder.release(holder.secret);
      await goOn(semaphore, () => Promise.resolve());
      expect(await on.step(permitsLimit, semaphore, 10, '', 16, 3_600_000)).toBe('SET');
      expect(await idsIn(semaphore, 'offers')).toHaveLength(150 - BATCH);
      // The last that was offered, and not taken back yet.
      expect((await act(all[149] as Requester)).kind).toBe(kind);
      expect((await on.stored(semaphore)).numbers).toMatchObject({ limit: '10', used: '10' });
      expect(new Set(await idsIn(semaphore, 'offers'))).toEqual(new Set(ids(all.slice(0, 10))));
    });

    it('ends the waits of who can never fit, by the reply and by a hint, and the others move up', async () => {
      const { semaphore } = await full(5);
      const [s1, s2] = [await on.server('s1'), await on.server('s2')];
      await on.listen(s2);
      const own = await waiter('s1', semaphore, 4);
      const others = await waiter('s2', semaphore, 5);
      const fits = await waiter('s2', semaphore, 3);
      s1.looks = [];
      const { view } = is('set', await on.setLimit(semaphore, 3));
      expect(view).toMatchObject({ waiterCount: 1, waiters: [{ permitCount: 3, position: 1 }] });
      expect(s1.looks).toEqual([own.requestId]);
      await eventually('the hint', () => s2.hinted.includes(others.requestId));
      expect((await others.touch()).waiters).toEqual(['recheck']);
      for (const one of [own, others]) expect(await one.claim()).toEqual({ kind: 'never-fits', limit: 3 });
      expect(is('waiting', await fits.claim()).position).toBe(1);
    });

    it('goes along a queue of hundreds 64 at a time, and who is left at its end gets what fits', async () => {
      const semaphore = on.resource('semaphore');
      await on.setLimit(semaphore, 8);
      is('granted', await (await on.request('s1', semaphore, { permits: 4 })).try());
      const misfits = await waiters(250, 's1', semaphore, 6);
      const small = await waiter('s1', semaphore);
      const server = await on.server('s1');
      const before = server.mores;
      server.looks = [];
      const queued = async () => (await idsIn(semaphore, 'queue')).length;
      is('set', await on.setLimit(semaphore, 5));
      expect(server.mores).toBe(before + 1);
      expect(await queued()).toBe(251 - BATCH);
      expect(await goOn(semaphore, queued)).toEqual([251 - 2 * BATCH, 251 - 3 * BATCH, 0]);
      expect(server.looks).toEqual(ids([...misfits, small]));
      is('granted', await small.claim());
    });

    it('tells a waiter that was away that it never fits, when it comes back', async () => {
      const { semaphore } = await full(5);
      const [asks, claims] = [await waiter('s1', semaphore, 5), await waiter('s1', semaphore, 5)];
      for (const one of [asks, claims]) is('withdrawn', await one.withdraw());
      await on.setLimit(semaphore, 4);
      expect(await asks.queue()).toEqual({ kind: 'never-fits', limit: 4 });
      expect(await claims.claim()).toEqual({ kind: 'never-fits', limit: 4 });
      expect(Object.keys((await on.stored(semaphore)).records)).toHaveLength(1);
    });
  });

  describe('set to 0', () => {
    it('pauses: what is offered goes back, everybody waits, however much it asks for', async () => {
      const { semaphore, holder } = await full(2);
      const offered = await waiter('s1', semaphore);
      await holder.release(holder.secret);
      expect(is('set', await on.setLimit(semaphore, 0)).view).toMatchObject({ usedCount: 0, waiterCount: 1 });
      expect(is('waiting', await offered.claim()).position).toBe(1);
      is('waiting', await (await on.request('s1', semaphore, { permits: 100 })).queue());
      is('refused', await (await on.request('s1', semaphore)).try());
      is('set', await on.setLimit(semaphore, 1));
      is('granted', await offered.claim());
    });

    it('and raised again tells who waited for too much, and grants to the others in order', async () => {
      const semaphore = on.resource('semaphore');
      await on.setLimit(semaphore, 0);
      const first = await waiter('s1', semaphore, 2);
      const tooMuch = await waiter('s1', semaphore, 10);
      const second = await waiter('s1', semaphore);
      const server = await on.server('s1');
      server.looks = [];
      expect(is('set', await on.setLimit(semaphore, 3)).view).toMatchObject({ usedCount: 3, waiterCount: 0 });
      expect(server.looks).toEqual(ids([tooMuch, first, second]));
      expect(await tooMuch.claim()).toEqual({ kind: 'never-fits', limit: 3 });
      const { fencingToken } = is('granted', await first.claim());
      expect(is('granted', await second.claim()).fencingToken).toBeGreaterThan(fencingToken);
    });

    it('leaves holders what they hold', async () => {
      const { semaphore, holder } = await full(2);
      expect(is('set', await on.setLimit(semaphore, 0)).view).toMatchObject({ limit: 0, usedCount: 2 });
      is('granted', await holder.renew(holder.secret));
      is('released', await holder.release(holder.secret));
    });
  });

  describe('beside a limit that a request brings', () => {
    it('is the one in force, and what requests bring later is ignored', async () => {
      const semaphore = on.resource('semaphore');
      const want = (permits: number) => on.request('s1', semaphore, { permits, initialLimit: 100 });
      await on.setLimit(semaphore, 2);
      expect(await (await want(3)).try()).toEqual({ kind: 'never-fits', limit: 2 });
      is('granted', await (await want(2)).try());
      is('refused', await (await want(1)).try());
    });

    it('changes one that a request has brought', async () => {
      const semaphore = on.resource('semaphore');
      is('granted', await (await on.request('s1', semaphore, { initialLimit: 1 })).try());
      is('set', await on.setLimit(semaphore, 2, { expectedLimit: 1 }));
      is('granted', await (await on.request('s1', semaphore, { initialLimit: 1 })).try());
    });

    it('outlives everything else that is stored of the semaphore', async () => {
      const { semaphore } = await full(2);
      expect(await on.redis.command('PTTL', on.limitKey(semaphore))).toBe('-1');
      await on.redis.command('DEL', on.key(semaphore, 'state'));
      const store = (await on.server('s1')).store;
      expect(await store.inspect(semaphore)).toMatchObject({ limit: 2, usedCount: 0 });
      const greedy = await on.request('s1', semaphore, { permits: 3, initialLimit: 100 });
      expect(await greedy.try()).toEqual({ kind: 'never-fits', limit: 2 });
      is('granted', await (await on.request('s1', semaphore, { permits: 2 })).try());
    });
  });
});
