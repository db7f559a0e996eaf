import { leaseDelete } from '../../../generated/redis/scripts';
import type { Resource } from '../../../src/leases/lease';
import { eventually } from '../../support/eventually';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import type { Requester } from '../../support/leases/lease-requester';
import { PARTS } from '../../support/leases/lease-stored';
import { is } from '../../support/reply-kinds';

const BATCH = 64;
const MINUTE_MS = 60_000;
const REVOKED = { kind: 'finished', cause: 'revoked' };
const UNKNOWN = { kind: 'unknown-resource' };

describe('lease-delete', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    // Hundreds of commands are in flight at the same time.
    fixture = await LeaseFixture.open({ commandTimeoutMs: 20_000, frozenClock: true });
  });
  afterAll(() => fixture.close());

  async function keysLeft(semaphore: Resource): Promise<string[]> {
    const keys = [...PARTS.map((part) => fixture.key(semaphore, part)), fixture.limitKey(semaphore)];
    const there = await Promise.all(keys.map((key) => fixture.redis.command('EXISTS', key)));
    return keys.filter((_, index) => there[index] !== '0');
  }

  /** A semaphore with a holder of s1, a stream of s2 that holds or waits, two waiters, and a detached waiter. */
  async function busy(limit: number) {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, limit));
    const holder = await fixture.request('s1', semaphore);
    is('granted', await holder.try());
    const stream = await fixture.request('s2', semaphore, { stream: true });
    await stream.queue();
    const [own, others, away] = [
      await fixture.request('s1', semaphore, { permits: limit, initialLimit: 9 }),
      await fixture.request('s2', semaphore, { initialLimit: 9 }),
      await fixture.request('s2', semaphore, { initialLimit: 9 }),
    ];
    for (const waiter of [own, others, away]) is('waiting', await waiter.queue());
    is('withdrawn', await away.withdraw());
    return { semaphore, holder, stream, own, others, away };
  }

  async function crowd(holders: number, waiters: number) {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, holders));
    const held = await fixture.requests(holders, 's1', semaphore, { initialLimit: 9 });
    await Promise.all(held.map(async (one) => is('granted', await one.try())));
    const waiting = await fixture.requests(waiters, 's2', semaphore, { initialLimit: 9 });
    await Promise.all(waiting.map(async (one) => is('waiting', await one.queue())));
    return { semaphore, held, waiting };
  }

  describe('without holders and waiters', () => {
    it('deletes the semaphore immediately, and answers UNKNOWN to later calls', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 3);
      expect(await fixture.remove(semaphore)).toEqual({ kind: 'removed' });
      expect(await (await fixture.request('s1', semaphore)).queue()).toEqual(UNKNOWN);
      expect((await (await fixture.server('s1')).store.inspect(semaphore)).limit).toBeUndefined();
      expect(await fixture.setLimit(semaphore, 5, { expectedLimit: 3 })).toEqual(UNKNOWN);
    });

    it('deletes a semaphore if only the key of its limit is left', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 3);
      await fixture.redis.command('DEL', fixture.key(semaphore, 'state'));
      expect(await fixture.remove(semaphore)).toEqual({ kind: 'removed' });
      expect(await fixture.redis.command('EXISTS', fixture.limitKey(semaphore))).toBe('0');
    });

    it('ignores hundreds of expired leases that are not purged yet', async () => {
      const semaphore = fixture.resource('semaphore');
      await fixture.setLimit(semaphore, 200);
      const all = await fixture.requests(200, 's1', semaphore, { ttlMs: 5000 });
      await Promise.all(all.map(async (one) => is('granted', await one.try())));
      await fixture.passInUse(semaphore, 5001);
      expect(await fixture.remove(semaphore)).toEqual({ kind: 'removed' });
    });

    it('answers UNKNOWN for a semaphore that never existed', async () => {
      const semaphore = fixture.resource('semaphore');
      for (const force of [false, true]) expect(await fixture.remove(semaphore, { force })).toEqual(UNKNOWN);
      expect(await keysLeft(semaphore)).toEqual([]);
    });
  });

  it('leaves a semaphore in use unchanged, and answers IN_USE with the numbers of holders and waiters', async () => {
    const { semaphore, holder, own } = await busy(1);
    const before = await fixture.stored(semaphore);
    // A detached request counts neither as a holder nor as a waiter.
    expect(await fixture.remove(semaphore)).toEqual({ kind: 'in-use', holderCount: 1, waiterCount: 3 });
    expect((await fixture.stored(semaphore)).records).toEqual(before.records);
    is('granted', await holder.renew(holder.secret));
    is('waiting', await own.claim());
    expect(await fixture.redis.command('GET', fixture.limitKey(semaphore))).toBe('1');
  });

  it('answers IN_USE for a single waiter, and for a single offer', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 0);
    const waiter = await fixture.request('s1', semaphore);
    is('waiting', await waiter.queue());
    expect(await fixture.remove(semaphore)).toEqual({ kind: 'in-use', holderCount: 0, waiterCount: 1 });
    await fixture.setLimit(semaphore, 1);
    expect(await fixture.remove(semaphore)).toEqual({ kind: 'in-use', holderCount: 1, waiterCount: 0 });
    is('granted', await waiter.claim());
  });

  describe('by force', () => {
    it('answers `revoked` to the holders, and sends a hint to the server of a stream', async () => {
      const { semaphore, holder, stream } = await busy(2);
      const s2 = await fixture.server('s2');
      await fixture.listen(s2);
      expect(await fixture.remove(semaphore, { force: true })).toEqual({ kind: 'removed' });
      await eventually('the hint', () => s2.hinted.includes(stream.requestId));
      expect(await stream.keepAlive(stream.secret)).toEqual(REVOKED);
      expect(await stream.release(stream.secret)).toEqual(REVOKED);
      expect(await holder.renew(holder.secret)).toEqual(REVOKED);
      for (let time = 0; time < 2; time += 1) expect(await holder.release(holder.secret)).toEqual(REVOKED);
      expect(await holder.try()).toMatchObject(REVOKED);
      expect((await fixture.stored(semaphore)).numbers.used).toBe('0');
    });

    it('stays in force if a holder repeats its request with an initial limit', async () => {
      const semaphore = fixture.resource('semaphore');
      const holder = await fixture.request('s1', semaphore, { initialLimit: 3 });
      is('granted', await holder.try());
      await fixture.remove(semaphore, { force: true });
      for (const reply of [await holder.queue(), await holder.claim()]) expect(reply).toMatchObject(REVOKED);
      expect((await (await fixture.server('s1')).store.inspect(semaphore)).limit).toBeUndefined();
    });

    it('answers UNKNOWN to waiters, even if they have an initial limit or were detached', async () => {
      const { semaphore, stream, own, others, away } = await busy(1);
      const [s1, s2] = [await fixture.server('s1'), await fixture.server('s2')];
      await fixture.listen(s2);
      s1.rechecks = [];
      await fixture.remove(semaphore, { force: true });
      expect(s1.rechecks).toEqual([own.requestId]);
      await eventually('the hints', () =>
        [stream, others].every(({ requestId }) => s2.hinted.includes(requestId)),
      );
      expect((await others.touch()).waiters).toEqual(['recheck']);
      for (const waiter of [stream, own, others, away]) expect(await waiter.claim()).toEqual(UNKNOWN);
      expect(is('withdrawn', await own.withdraw()).snapshot).toMatchObject({
        limit: undefined,
        usedCount: 0,
      });
      expect(await fixture.redis.command('EXISTS', fixture.limitKey(semaphore))).toBe('0');
    });

    it('ends offers that are not claimed yet', async () => {
      const { semaphore, holder, stream } = await busy(1);
      await holder.release(holder.secret);
      expect(await fixture.idsIn(semaphore, 'offers')).toEqual([stream.requestId]);
      await fixture.remove(semaphore, { force: true });
      expect(await stream.claim()).toEqual(UNKNOWN);
    });

    it.each([
      ['set by SetSemaphoreLimit', (semaphore: Resource) => fixture.setLimit(semaphore, 5)],
      ['set by its first request', () => Promise.resolve()],
    ])('keeps old requests out of a new semaphore of the same name, with a limit %s', async (_, make) => {
      const { semaphore, holder, stream, own, others, away } = await busy(1);
      await fixture.remove(semaphore, { force: true });
      await make(semaphore);
      const first = await fixture.request('s1', semaphore, { permits: 5, initialLimit: 5 });
      is('granted', await first.try());
      const next = await fixture.request('s2', semaphore);
      is('waiting', await next.queue());
      for (const waiter of [stream, own, others, away]) expect(await waiter.claim()).toEqual(UNKNOWN);
      expect(await holder.renew(holder.secret)).toEqual(REVOKED);
      expect(await holder.queue()).toMatchObject(REVOKED);
      is('released', await first.release(first.secret));
      is('granted', await next.claim());
      expect((await fixture.stored(semaphore)).sets.queue).toEqual([]);
      expect(brokenInvariants(await fixture.stored(semaphore))).toEqual([]);
    });

    it('ends 400 leases and 400 waits in batches of 64', async () => {
      const { semaphore, held, waiting } = await crowd(400, 400);
      const server = await fixture.server('s1');
      const before = server.mores;
      is('removed', await fixture.remove(semaphore, { force: true }));
      expect(server.mores).toBe(before + 1);
      server.answers.splice(0);
      await server.store.touch(semaphore, []);
      const steps = Math.ceil(800 / BATCH) - 1;
      expect(server.answers.map(({ word }) => word)).toEqual([
        ...Array.from({ length: steps - 1 }, () => 'AGAIN'),
        'DONE',
      ]);
      const { sets, numbers } = await fixture.stored(semaphore);
      expect([sets.ends, sets.offers, sets.queue, sets.detached, sets.live]).toEqual([[], [], [], [], []]);
      expect(numbers).toMatchObject({ used: '0' });
      const replies = await Promise.all([
        ...waiting.map((one) => one.claim()),
        ...held.map((one) => one.renew(one.secret)),
      ]);
      expect(replies).toEqual([...waiting.map(() => UNKNOWN), ...held.map(() => REVOKED)]);
    });

    it('does not delete a newer semaphore if the same deletion is sent again after a lost reply', async () => {
      const { semaphore, holder } = await busy(2);
      const send = () => fixture.step(leaseDelete, semaphore, '1', 'one deletion');
      expect(await send()).toBe('DELETED');
      const newcomer = await fixture.request('s3', semaphore, { initialLimit: 7 });
      is('granted', await newcomer.try());
      expect(await send()).toBe('DELETED');
      is('granted', await newcomer.renew(newcomer.secret));
      expect(await holder.renew(holder.secret)).toEqual(REVOKED);
      expect(await fixture.step(leaseDelete, semaphore, '1', 'another deletion')).toBe('DELETED');
      expect(await newcomer.renew(newcomer.secret)).toEqual(REVOKED);
    });

    it('forgets its tombstones after a minute, even if a new semaphore of the name exists', async () => {
      const { semaphore, holder } = await busy(2);
      await fixture.remove(semaphore, { force: true });
      const newcomer = await fixture.request('s3', semaphore, { initialLimit: 7, ttlMs: 120_000 });
      is('granted', await newcomer.try());
      const expiryMs = Number(await fixture.redis.command('PEXPIRETIME', fixture.key(semaphore, 'state')));
      expect(expiryMs - Number(await fixture.now()) / 1000).toBeGreaterThan(2 * MINUTE_MS);
      await fixture.passInUse(semaphore, MINUTE_MS + 1);
      is('granted', await newcomer.renew(newcomer.secret));
      expect(Object.keys((await fixture.stored(semaphore)).records)).toEqual([newcomer.requestId]);
      expect(await holder.renew(holder.secret)).toEqual({ kind: 'gone' });
    });

    const between: [string, (one: Requester, newcomer: Requester) => Promise<{ kind: string }>, string][] = [
      ['a claim', (waiter) => waiter.claim(), 'unknown-resource'],
      ['a withdrawal', (waiter) => waiter.withdraw(), 'withdrawn'],
      ['an acquire with an initial limit', (_, newcomer) => newcomer.try(), 'granted'],
      ['a new limit', (waiter) => fixture.setLimit(waiter.resource, 7), 'set'],
      ['another deletion', (waiter) => fixture.remove(waiter.resource), 'removed'],
    ];
    it.each(between)('finishes all its steps first if %s arrives between two steps', async (_, act, kind) => {
      const { semaphore, held, waiting } = await crowd(140, 140);
      expect(await fixture.step(leaseDelete, semaphore, '1', 'a deletion')).toBe('DELETED');
      expect((await fixture.stored(semaphore)).sets.ends).toHaveLength(140 - BATCH);
      const newcomer = await fixture.request('s3', semaphore, { permits: 7, initialLimit: 7 });
      expect((await act(waiting[139] as Requester, newcomer)).kind).toBe(kind);
      expect((await fixture.stored(semaphore)).sets.queue).toEqual([]);
      for (const waiter of waiting) expect(await waiter.claim()).toEqual(UNKNOWN);
      for (const holder of held) expect(await holder.renew(holder.secret)).toEqual(REVOKED);
    });

    it('answers UNKNOWN to a waiter, even if the deletion takes more than a minute', async () => {
      const { semaphore, waiting } = await crowd(100, 100);
      expect(await fixture.step(leaseDelete, semaphore, '1', 'a deletion')).toBe('DELETED');
      await fixture.passInUse(semaphore, MINUTE_MS + 1);
      expect(await (waiting[99] as Requester).claim()).toEqual(UNKNOWN);
    });

    it('keeps a new semaphore of the same name that is created between two steps', async () => {
      const { semaphore } = await crowd(140, 140);
      is('removed', await fixture.remove(semaphore, { force: true }));
      const newcomer = await fixture.request('s3', semaphore, { permits: 7, initialLimit: 7 });
      is('granted', await newcomer.try());
      await (await fixture.server('s1')).store.touch(semaphore, []);
      is('granted', await newcomer.renew(newcomer.secret));
      expect((await fixture.stored(semaphore)).numbers).toMatchObject({ limit: '7', used: '7' });
    });

    it('answers `revoked` to a holder that renews or releases between two steps', async () => {
      for (const act of ['renew', 'release'] as const) {
        const { semaphore, held } = await crowd(140, 0);
        // Leases of one end are ended in the order of their ids, so the batch of a holder is known only here.
        const lastId = (await fixture.idsIn(semaphore, 'ends')).at(-1);
        const last = held.find(({ requestId }) => requestId === lastId) as Requester;
        expect(await fixture.step(leaseDelete, semaphore, '1', 'a deletion')).toBe('DELETED');
        expect(await last[act](last.secret)).toEqual(REVOKED);
      }
    });
  });

  describe('after the deletion', () => {
    it('answers DELETED to a repeated deletion within a minute, and UNKNOWN later', async () => {
      const { semaphore } = await busy(1);
      await fixture.remove(semaphore, { force: true });
      await fixture.passInUse(semaphore, MINUTE_MS - 500);
      for (const force of [false, true])
        expect(await fixture.remove(semaphore, { force })).toEqual({ kind: 'removed' });
      await fixture.passInUse(semaphore, 501);
      expect(await fixture.remove(semaphore)).toEqual(UNKNOWN);
    });

    it('leaves no key after a minute, with or without later calls', async () => {
      const { semaphore, holder } = await busy(1);
      await fixture.remove(semaphore, { force: true });
      expect(await keysLeft(semaphore)).toEqual([fixture.key(semaphore, 'state')]);
      for (const key of await keysLeft(semaphore)) {
        const expiryMs = Number(await fixture.redis.command('PEXPIRETIME', key));
        const ttl = expiryMs - Number(await fixture.now()) / 1000;
        expect(ttl).toBeGreaterThan(MINUTE_MS - 10_000);
        expect(ttl).toBeLessThanOrEqual(MINUTE_MS);
      }
      expect(await holder.release(holder.secret)).toEqual(REVOKED);
      await fixture.passInUse(semaphore, MINUTE_MS + 1);
      expect(await holder.release(holder.secret)).toEqual({ kind: 'gone' });
      expect(await keysLeft(semaphore)).toEqual([]);
    });

    it('keeps a new semaphore of the same name', async () => {
      const { semaphore } = await busy(1);
      await fixture.remove(semaphore, { force: true });
      await fixture.setLimit(semaphore, 2);
      const holder = await fixture.request('s1', semaphore, { ttlMs: 10 * MINUTE_MS });
      const { fencingToken } = is('granted', await holder.try());
      await fixture.passInUse(semaphore, MINUTE_MS + 1);
      expect(is('granted', await holder.renew(holder.secret)).fencingToken).toBe(fencingToken);
      const { numbers, records } = await fixture.stored(semaphore);
      expect(Object.keys(records)).toEqual([holder.requestId]);
      const { limit, used, moving } = numbers;
      expect({ limit, used, moving }).toEqual({ limit: '2', used: '1', moving: undefined });
    });

    it('keeps a new semaphore of the same name as long as a lease of the deleted semaphore would have lasted', async () => {
      const semaphore = fixture.resource('semaphore');
      const old = await fixture.request('s1', semaphore, { initialLimit: 1, ttlMs: 10 * MINUTE_MS });
      is('granted', await old.try());
      const stateExpiry = () => fixture.redis.command('PEXPIRETIME', fixture.key(semaphore, 'state'));
      const before = await stateExpiry();
      await fixture.remove(semaphore, { force: true });
      is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 1 })).try());
      expect(await stateExpiry()).toBe(before);
    });

    it('restores the forgotten place of a waiter of the new semaphore, and no place of the deleted semaphore', async () => {
      const { semaphore, own } = await busy(1);
      await fixture.remove(semaphore, { force: true });
      await fixture.setLimit(semaphore, 1);
      is('granted', await (await fixture.request('s1', semaphore)).try());
      const waiter = await fixture.request('s1', semaphore);
      is('waiting', await waiter.queue());
      is('withdrawn', await waiter.withdraw());
      await fixture.passInUse(semaphore, 10_001);
      is('withdrawn', await (await fixture.request('s1', semaphore)).withdraw());
      expect((await fixture.stored(semaphore)).records[waiter.requestId]).toBeUndefined();
      is('waiting', await waiter.claim());
      expect(await own.claim()).toEqual({ kind: 'unknown-resource' });
    });

    it('ends the wait of a request that Redis had lost before the deletion', async () => {
      const { semaphore, own } = await busy(1);
      own.ticket = await fixture.now();
      await fixture.forget();
      is('set', await fixture.setLimit(semaphore, 1));
      is('removed', await fixture.remove(semaphore));
      expect(await own.claim()).toEqual({ kind: 'unknown-resource' });
    });

    it('leaves no work for another script, unless a batch is left', async () => {
      const { semaphore } = await busy(1);
      const server = await fixture.server('s1');
      const before = server.mores;
      is('removed', await fixture.remove(semaphore, { force: true }));
      expect(server.mores).toBe(before);
    });

    it('grants a greater fencing token in a new semaphore of the same name', async () => {
      const semaphore = fixture.resource('semaphore');
      const ask = async () =>
        is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 1 })).try()).fencingToken;
      const first = await ask();
      await fixture.remove(semaphore, { force: true });
      expect(await ask()).toBeGreaterThan(first);
    });
  });
});
