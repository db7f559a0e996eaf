import { permitsDelete } from '../../generated/redis/scripts';
import type { Resource } from '../../src/engine/leases/lease';
import { eventually } from '../support/eventually';
import { PARTS, PermitsFixture } from '../support/permits-fixture';
import { brokenInvariants } from '../support/permits-invariants';
import type { Requester } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

const BATCH = 64;
const MINUTE_MS = 60_000;
const REVOKED = { kind: 'finished', cause: 'revoked' };
const UNKNOWN = { kind: 'unknown-resource' };

describe('permits-delete', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    // Hundreds of commands are under way at once.
    on = await PermitsFixture.open({ commandTimeoutMs: 20_000 });
  });
  afterAll(() => on.close());

  async function keysLeft(semaphore: Resource): Promise<string[]> {
    const keys = [...PARTS.map((part) => on.key(semaphore, part)), on.limitKey(semaphore)];
    const there = await Promise.all(keys.map((key) => on.redis.command('EXISTS', key)));
    return keys.filter((_, index) => there[index] !== '0');
  }

  /** A semaphore with a holder of s1, a stream of s2 that holds or waits, two waiters, and one that is away. */
  async function busy(limit: number) {
    const semaphore = on.resource('semaphore');
    is('set', await on.setLimit(semaphore, limit));
    const holder = await on.request('s1', semaphore);
    is('granted', await holder.try());
    const stream = await on.request('s2', semaphore, { stream: true });
    await stream.queue();
    const [own, others, away] = [
      await on.request('s1', semaphore, { permits: limit, initialLimit: 9 }),
      await on.request('s2', semaphore, { initialLimit: 9 }),
      await on.request('s2', semaphore, { initialLimit: 9 }),
    ];
    for (const waiter of [own, others, away]) is('waiting', await waiter.queue());
    is('withdrawn', await away.withdraw());
    return { semaphore, holder, stream, own, others, away };
  }

  async function crowd(holders: number, waiters: number) {
    const semaphore = on.resource('semaphore');
    is('set', await on.setLimit(semaphore, holders));
    const held = await on.requests(holders, 's1', semaphore, { initialLimit: 9 });
    await Promise.all(held.map(async (one) => is('granted', await one.try())));
    const waiting = await on.requests(waiters, 's2', semaphore, { initialLimit: 9 });
    await Promise.all(waiting.map(async (one) => is('waiting', await one.queue())));
    return { semaphore, held, waiting };
  }

  describe('of a semaphore that nobody uses', () => {
    it('is done at once: nobody knows it any more', async () => {
      const semaphore = on.resource('semaphore');
      await on.setLimit(semaphore, 3);
      expect(await on.remove(semaphore)).toEqual({ kind: 'removed' });
      expect(await (await on.request('s1', semaphore)).queue()).toEqual(UNKNOWN);
      expect((await (await on.server('s1')).store.inspect(semaphore)).limit).toBeUndefined();
      expect(await on.setLimit(semaphore, 5, { expectedLimit: 3 })).toEqual(UNKNOWN);
    });

    it('is done also where only its limit is left', async () => {
      const semaphore = on.resource('semaphore');
      await on.setLimit(semaphore, 3);
      await on.redis.command('DEL', on.key(semaphore, 'state'));
      expect(await on.remove(semaphore)).toEqual({ kind: 'removed' });
      expect(await on.redis.command('EXISTS', on.limitKey(semaphore))).toBe('0');
    });

    it('is done though hundreds of leases that have expired were not purged yet', async () => {
      const semaphore = on.resource('semaphore');
      await on.setLimit(semaphore, 200);
      const all = await on.requests(200, 's1', semaphore, { ttlMs: 5000 });
      await Promise.all(all.map(async (one) => is('granted', await one.try())));
      await on.passInUse(semaphore, 5001);
      expect(await on.remove(semaphore)).toEqual({ kind: 'removed' });
    });

    it('of one that never was says so', async () => {
      const semaphore = on.resource('semaphore');
      for (const force of [false, true]) expect(await on.remove(semaphore, { force })).toEqual(UNKNOWN);
      expect(await keysLeft(semaphore)).toEqual([]);
    });
  });

  it('changes nothing of one in use, and says how many hold and wait', async () => {
    const { semaphore, holder, own } = await busy(1);
    const before = await on.stored(semaphore);
    // Whoever is away neither holds nor waits.
    expect(await on.remove(semaphore)).toEqual({ kind: 'in-use', holderCount: 1, waiterCount: 3 });
    expect((await on.stored(semaphore)).records).toEqual(before.records);
    is('granted', await holder.renew(holder.secret));
    is('waiting', await own.claim());
    expect(await on.redis.command('GET', on.limitKey(semaphore))).toBe('1');
  });

  it('counts as in use what was just offered, and what a waiter alone waits for', async () => {
    const semaphore = on.resource('semaphore');
    await on.setLimit(semaphore, 0);
    const waiter = await on.request('s1', semaphore);
    is('waiting', await waiter.queue());
    expect(await on.remove(semaphore)).toEqual({ kind: 'in-use', holderCount: 0, waiterCount: 1 });
    await on.setLimit(semaphore, 1);
    expect(await on.remove(semaphore)).toEqual({ kind: 'in-use', holderCount: 1, waiterCount: 0 });
    is('granted', await waiter.claim());
  });

  describe('by force', () => {
    it('tells holders that they were revoked: a stream at once, the others when they ask', async () => {
      const { semaphore, holder, stream } = await busy(2);
      const s2 = await on.server('s2');
      await on.listen(s2);
      expect(await on.remove(semaphore, { force: true })).toEqual({ kind: 'removed' });
      await eventually('the hint', () => s2.hinted.includes(stream.requestId));
      expect(await stream.keepAlive(stream.secret)).toEqual(REVOKED);
      expect(await stream.release(stream.secret)).toEqual(REVOKED);
      expect(await holder.renew(holder.secret)).toEqual(REVOKED);
      for (let time = 0; time < 2; time += 1) expect(await holder.release(holder.secret)).toEqual(REVOKED);
      expect(await holder.try()).toEqual(REVOKED);
      expect((await on.stored(semaphore)).numbers.used).toBe('0');
    });

    it('is not undone by a holder that repeats its request, whatever limit that brings', async () => {
      const semaphore = on.resource('semaphore');
      const holder = await on.request('s1', semaphore, { initialLimit: 3 });
      is('granted', await holder.try());
      await on.remove(semaphore, { force: true });
      for (const reply of [await holder.queue(), await holder.claim()]) expect(reply).toEqual(REVOKED);
      expect((await (await on.server('s1')).store.inspect(semaphore)).limit).toBeUndefined();
    });

    it('tells waiters that there is none, also those that would bring a limit or were away', async () => {
      const { semaphore, stream, own, others, away } = await busy(1);
      const [s1, s2] = [await on.server('s1'), await on.server('s2')];
      await on.listen(s2);
      s1.looks = [];
      await on.remove(semaphore, { force: true });
      expect(s1.looks).toEqual([own.requestId]);
      await eventually('the hints', () =>
        [stream, others].every(({ requestId }) => s2.hinted.includes(requestId)),
      );
      expect((await others.touch()).waiters).toEqual(['recheck']);
      for (const waiter of [stream, own, others, away]) expect(await waiter.claim()).toEqual(UNKNOWN);
      expect(is('withdrawn', await own.withdraw()).snapshot).toMatchObject({
        limit: undefined,
        usedCount: 0,
      });
      expect(await on.redis.command('EXISTS', on.limitKey(semaphore))).toBe('0');
    });

    it('takes what was offered and not yet claimed', async () => {
      const { semaphore, holder, stream } = await busy(1);
      await holder.release(holder.secret);
      expect((await on.stored(semaphore)).sets.offers.map(({ id }) => id)).toEqual([stream.requestId]);
      await on.remove(semaphore, { force: true });
      expect(await stream.claim()).toEqual(UNKNOWN);
    });

    it.each([
      ['set', (semaphore: Resource) => on.setLimit(semaphore, 5)],
      ['brought by a request', () => Promise.resolve()],
    ])('and made anew meanwhile, its limit %s: the old ones are not let in', async (_, make) => {
      const { semaphore, holder, stream, own, others, away } = await busy(1);
      await on.remove(semaphore, { force: true });
      await make(semaphore);
      const first = await on.request('s1', semaphore, { permits: 5, initialLimit: 5 });
      is('granted', await first.try());
      const next = await on.request('s2', semaphore);
      is('waiting', await next.queue());
      for (const waiter of [stream, own, others, away]) expect(await waiter.claim()).toEqual(UNKNOWN);
      expect(await holder.renew(holder.secret)).toEqual(REVOKED);
      expect(await holder.queue()).toEqual(REVOKED);
      is('released', await first.release(first.secret));
      is('granted', await next.claim());
      expect((await on.stored(semaphore)).sets.queue).toEqual([]);
      expect(brokenInvariants(await on.stored(semaphore))).toEqual([]);
    });

    it('ends a thousand leases and a thousand waits in bounded steps', async () => {
      const { semaphore, held, waiting } = await crowd(1000, 1000);
      const server = await on.server('s1');
      const before = server.mores;
      is('removed', await on.remove(semaphore, { force: true }));
      expect(server.mores).toBe(before + 1);
      server.answers.splice(0);
      await server.store.touch(semaphore, []);
      const steps = Math.ceil(2000 / BATCH) - 1;
      expect(server.answers.map(({ word }) => word)).toEqual([
        ...Array.from({ length: steps - 1 }, () => 'AGAIN'),
        'DONE',
      ]);
      const { sets, numbers } = await on.stored(semaphore);
      expect([sets.ends, sets.offers, sets.queue, sets.detached, sets.live]).toEqual([[], [], [], [], []]);
      expect(numbers).toMatchObject({ used: '0' });
      const replies = await Promise.all([
        ...waiting.map((one) => one.claim()),
        ...held.map((one) => one.renew(one.secret)),
      ]);
      expect(replies).toEqual([...waiting.map(() => UNKNOWN), ...held.map(() => REVOKED)]);
    });

    it('sent again by a connection that was cut takes no semaphore that was made since', async () => {
      const { semaphore, holder } = await busy(2);
      const send = () => on.step(permitsDelete, semaphore, '1', 'one deletion', 3_600_000);
      expect(await send()).toBe('DELETED');
      const newcomer = await on.request('s3', semaphore, { initialLimit: 7 });
      is('granted', await newcomer.try());
      expect(await send()).toBe('DELETED');
      is('granted', await newcomer.renew(newcomer.secret));
      expect(await holder.renew(holder.secret)).toEqual(REVOKED);
      expect(await on.step(permitsDelete, semaphore, '1', 'another deletion', 3_600_000)).toBe('DELETED');
      expect(await newcomer.renew(newcomer.secret)).toEqual(REVOKED);
    });

    it('forgets its tombstones after a minute, also where it was made anew meanwhile', async () => {
      const { semaphore, holder } = await busy(2);
      await on.remove(semaphore, { force: true });
      const newcomer = await on.request('s3', semaphore, { initialLimit: 7, ttlMs: 120_000 });
      is('granted', await newcomer.try());
      const expiry = Number(await on.redis.command('PTTL', on.key(semaphore, 'ended')));
      expect(expiry).toBeGreaterThan(2 * MINUTE_MS);
      await on.passInUse(semaphore, MINUTE_MS + 1);
      is('granted', await newcomer.renew(newcomer.secret));
      expect(Object.keys((await on.stored(semaphore)).records)).toEqual([newcomer.requestId]);
      expect(await holder.renew(holder.secret)).toEqual({ kind: 'gone' });
    });

    const between: [string, (one: Requester, newcomer: Requester) => Promise<{ kind: string }>, string][] = [
      ['a waiter claims', (waiter) => waiter.claim(), 'unknown-resource'],
      ['a waiter leaves', (waiter) => waiter.withdraw(), 'withdrawn'],
      ['a newcomer brings a limit', (_, newcomer) => newcomer.try(), 'granted'],
      ['somebody sets a limit', (waiter) => on.setLimit(waiter.resource, 7), 'set'],
      ['somebody deletes it too', (waiter) => on.remove(waiter.resource), 'removed'],
    ];
    it.each(between)('%s between two steps: the deletion comes first', async (_, act, kind) => {
      const { semaphore, held, waiting } = await crowd(200, 200);
      expect(await on.step(permitsDelete, semaphore, '1', 'a deletion', 3_600_000)).toBe('DELETED');
      expect((await on.stored(semaphore)).sets.ends).toHaveLength(200 - BATCH);
      const newcomer = await on.request('s3', semaphore, { permits: 7, initialLimit: 7 });
      expect((await act(waiting[199] as Requester, newcomer)).kind).toBe(kind);
      expect((await on.stored(semaphore)).sets.queue).toEqual([]);
      for (const waiter of waiting) expect(await waiter.claim()).toEqual(UNKNOWN);
      for (const holder of held) expect(await holder.renew(holder.secret)).toEqual(REVOKED);
    });

    it('one of the same name that is made between two steps stays, whatever comes after', async () => {
      const { semaphore } = await crowd(200, 200);
      is('removed', await on.remove(semaphore, { force: true }));
      const newcomer = await on.request('s3', semaphore, { permits: 7, initialLimit: 7 });
      is('granted', await newcomer.try());
      await (await on.server('s1')).store.touch(semaphore, []);
      is('granted', await newcomer.renew(newcomer.secret));
      expect((await on.stored(semaphore)).numbers).toMatchObject({ limit: '7', used: '7' });
    });

    it('a holder that asks between two steps learns that it was revoked', async () => {
      for (const act of ['renew', 'release'] as const) {
        const { semaphore, held } = await crowd(200, 0);
        expect(await on.step(permitsDelete, semaphore, '1', 'a deletion', 3_600_000)).toBe('DELETED');
        const last = held[199] as Requester;
        expect(await last[act](last.secret)).toEqual(REVOKED);
      }
    });
  });

  describe('afterwards', () => {
    it('answers a repeat within a minute as the first time, and then that there is none', async () => {
      const { semaphore } = await busy(1);
      await on.remove(semaphore, { force: true });
      await on.passInUse(semaphore, MINUTE_MS - 500);
      for (const force of [false, true])
        expect(await on.remove(semaphore, { force })).toEqual({ kind: 'removed' });
      await on.passInUse(semaphore, 501);
      expect(await on.remove(semaphore)).toEqual(UNKNOWN);
    });

    it('leaves nothing after a minute, whether anybody asks or not', async () => {
      const { semaphore, holder } = await busy(1);
      await on.remove(semaphore, { force: true });
      expect(await keysLeft(semaphore)).toEqual([on.key(semaphore, 'state'), on.key(semaphore, 'ended')]);
      for (const key of await keysLeft(semaphore)) {
        const ttl = Number(await on.redis.command('PTTL', key));
        expect(ttl).toBeGreaterThan(MINUTE_MS - 10_000);
        expect(ttl).toBeLessThanOrEqual(MINUTE_MS);
      }
      expect(await holder.release(holder.secret)).toEqual(REVOKED);
      await on.passInUse(semaphore, MINUTE_MS + 1);
      expect(await holder.release(holder.secret)).toEqual({ kind: 'gone' });
      expect(await keysLeft(semaphore)).toEqual([]);
    });

    it('keeps one of the same name that was made since', async () => {
      const { semaphore } = await busy(1);
      await on.remove(semaphore, { force: true });
      await on.setLimit(semaphore, 2);
      const holder = await on.request('s1', semaphore, { ttlMs: 10 * MINUTE_MS });
      const { fencingToken } = is('granted', await holder.try());
      await on.passInUse(semaphore, MINUTE_MS + 1);
      expect(is('granted', await holder.renew(holder.secret)).fencingToken).toBe(fencingToken);
      const { numbers, records } = await on.stored(semaphore);
      expect(Object.keys(records)).toEqual([holder.requestId]);
      const { limit, used, moving } = numbers;
      expect({ limit, used, moving }).toEqual({ limit: '2', used: '1', moving: undefined });
    });

    it('lets tokens go on rising', async () => {
      const semaphore = on.resource('semaphore');
      const ask = async () =>
        is('granted', await (await on.request('s1', semaphore, { initialLimit: 1 })).try()).fencingToken;
      const first = await ask();
      await on.remove(semaphore, { force: true });
      expect(await ask()).toBeGreaterThan(first);
    });
  });
});
