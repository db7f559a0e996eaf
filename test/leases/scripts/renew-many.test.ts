import type { Resource } from '../../../src/leases/lease';
import type { LeaseToRenew, Renewed } from '../../../src/leases/lease-store';
import { bucketOf } from '../../../src/redis/buckets';
import { namesKeys } from '../../../src/leases/redis/lease-keys';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { OFFERED_TTL_MS, type Requester, type RequesterOptions } from '../../support/leases/lease-requester';
import { PREFIX } from '../../support/leases/lease-server';
import { is } from '../../support/reply-kinds';

const TTL_MS = 10_000;

describe('lease-renew-many', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  async function renew(leases: readonly LeaseToRenew[]): Promise<readonly (Renewed | undefined)[]> {
    return (await fixture.server('s1')).store.renewMany(leases, {});
  }

  /** A stream with a lease on this resource. */
  async function holds(resource: Resource, options: RequesterOptions = {}): Promise<Requester> {
    const call = await fixture.request('s1', resource, { ttlMs: TTL_MS, stream: true, ...options });
    is('granted', await call.queue());
    return call;
  }

  /** A lease on a resource of its own, in the bucket of another resource. */
  async function held(beside = fixture.resource(), options: RequesterOptions = {}): Promise<Requester> {
    return holds(fixture.resourceBeside(beside), options);
  }

  async function semaphore(limit: number, beside = fixture.resource()): Promise<Resource> {
    const resource = fixture.resourceBeside(beside, 'semaphore');
    is('set', await fixture.setLimit(resource, limit));
    return resource;
  }

  async function remainingMs({ resource, requestId }: Requester): Promise<number | undefined> {
    const end = (await fixture.stored(resource)).sets.ends.find(({ id }) => id === requestId);
    return end && (end.score - Number(await fixture.now())) / 1000;
  }

  const whole = { sentAt: expect.any(Number) as number, remainingMs: TTL_MS, ttlMs: TTL_MS };

  /** Renews the lease between two others of its bucket. They are renewed, and the resource of the lease does not change. */
  async function expectLeft(lease: LeaseToRenew): Promise<void> {
    const others = [await held(lease.resource), await held(lease.resource)] as const;
    for (const { resource } of others) await fixture.passInUse(resource, 4000);
    const before = await fixture.stored(lease.resource);
    const server = await fixture.server('s1');
    const newsBefore = server.rechecks.length + server.grants.length;
    expect(await renew([others[0].toRenew(), lease, others[1].toRenew()])).toEqual([whole, undefined, whole]);
    expect(await fixture.stored(lease.resource)).toEqual(before);
    expect(server.rechecks.length + server.grants.length).toBe(newsBefore);
    for (const other of others) expect(await remainingMs(other)).toBe(TTL_MS);
  }

  describe('renews', () => {
    it('16 leases of one bucket to their whole ttl from now, each with its own ttl', async () => {
      const first = await held();
      const calls = [first];
      while (calls.length < 16) calls.push(await held(first.resource, { ttlMs: TTL_MS + calls.length }));
      for (const { resource } of calls) await fixture.passInUse(resource, 7000);
      const replies = await renew(calls.map((call) => call.toRenew()));
      expect(replies).toEqual(
        calls.map((_, n) => ({ ...whole, remainingMs: TTL_MS + n, ttlMs: TTL_MS + n })),
      );
      for (const [n, call] of calls.entries()) expect(await remainingMs(call)).toBe(TTL_MS + n);
    });

    it('a single lease', async () => {
      const call = await held();
      await fixture.passInUse(call.resource, 7000);
      expect(await renew([call.toRenew()])).toEqual([whole]);
      expect(await remainingMs(call)).toBe(TTL_MS);
    });

    it('locks and semaphores together, and several leases of one semaphore', async () => {
      const lock = await held();
      const one = await semaphore(2, lock.resource);
      const leases = [await holds(one), lock, await holds(one)];
      for (const resource of [one, lock.resource]) await fixture.passInUse(resource, 7000);
      expect(await renew(leases.map((call) => call.toRenew()))).toEqual([whole, whole, whole]);
      for (const call of leases) expect(await remainingMs(call)).toBe(TTL_MS);
      expect((await fixture.stored(one)).numbers.used).toBe('2');
    });

    it('leases with the same request id on several names, also beyond the head', async () => {
      const first = await semaphore(40);
      const second = await semaphore(40, first);
      const leases: Requester[] = [];
      for (const resource of [first, second]) {
        const ttlMs = resource === first ? TTL_MS : 2 * TTL_MS;
        for (let count = 0; count < 17; count += 1) await holds(resource, { ttlMs: 60_000 });
        const requestId = leases[0]?.clientRequestId;
        leases.push(await holds(resource, { ttlMs, ...(requestId !== undefined && { requestId }) }));
        await fixture.passInUse(resource, 4000);
        expect((await fixture.stored(resource)).numbers.isSpilled).toBe('1');
      }
      expect(leases[0]?.requestId).toBe(leases[1]?.requestId);
      const replies = await renew(leases.map((call) => call.toRenew()));
      expect(replies.map((reply) => reply?.remainingMs)).toEqual([TTL_MS, 2 * TTL_MS]);
      expect(await Promise.all(leases.map(remainingMs))).toEqual([TTL_MS, 2 * TTL_MS]);
    });

    it('a lease with an identity for the holder only', async () => {
      const call = await held(undefined, { identity: 'jwt:issuer#é' });
      const lease = call.toRenew();
      await fixture.passInUse(call.resource, 4000);
      expect(
        await renew([lease, { ...lease, identity: '' }, { ...lease, identity: 'jwt:issuer#e' }]),
      ).toEqual([whole, undefined, undefined]);
    });

    it('with the ttl and the metadata that another call has set meanwhile', async () => {
      const call = await held(undefined, { metadata: { a: '1' } });
      const other = await held(call.resource);
      is('granted', await call.renew(call.secret, 60_000, { a: '2' }));
      await fixture.passInUse(call.resource, 7000);
      const [reply] = await renew([call.toRenew(), other.toRenew()]);
      expect(reply).toEqual({ ...whole, remainingMs: 60_000, ttlMs: 60_000 });
      const { store } = await fixture.server('s1');
      expect((await store.inspect(call.resource)).holders[0]?.metadata).toEqual({ a: '2' });
    });

    it('a lease with waiters that do not fit, and leaves the waiters in the queue', async () => {
      const call = await held();
      const waiter = await fixture.request('s2', call.resource);
      is('waiting', await waiter.queue());
      const other = await held(call.resource);
      await fixture.passInUse(call.resource, 7000);
      expect(await renew([other.toRenew(), call.toRenew()])).toEqual([whole, whole]);
      expect(await fixture.idsIn(call.resource, 'queue')).toEqual([waiter.requestId]);
      expect(await fixture.idsIn(other.resource, 'queue')).toEqual([]);
    });

    it('as an answer to the call: a direct grant is not given back afterwards as unheard', async () => {
      const holder = await held();
      const waiter = await fixture.request('s1', holder.resource, { ttlMs: TTL_MS, stream: true });
      is('waiting', await waiter.queue());
      const server = await fixture.server('s1');
      server.grants = [];
      is('released', await holder.release(holder.secret));
      const token = server.grants[0]?.grant.fencingToken as bigint;
      const other = await held(holder.resource);
      expect(await renew([waiter.toRenew(), other.toRenew()])).toEqual([whole, whole]);
      is('kept', await waiter.giveBackUnheard(token));
      // The record that has changed is stored with its own resource only.
      expect(Object.keys((await fixture.stored(other.resource)).records)).toEqual([other.requestId]);
    });

    it('a direct grant, although the same request id has an old tombstone on the name before', async () => {
      const many = await semaphore(40);
      const [first, ...later] = await fixture.requests(20, 's1', many, { ttlMs: TTL_MS, stream: true });
      for (const call of [first as Requester, ...later]) is('granted', await call.try());
      for (const call of [first as Requester, ...later]) is('released', await call.release(call.secret));
      expect((await fixture.stored(many)).places.past).toBeGreaterThan(0);
      const holder = await held(many);
      const requestId = (first as Requester).clientRequestId;
      const waiter = await fixture.request('s1', holder.resource, { requestId, ttlMs: TTL_MS, stream: true });
      is('waiting', await waiter.queue());
      is('released', await holder.release(holder.secret));
      expect(await renew([(first as Requester).toRenew(), waiter.toRenew()])).toEqual([undefined, whole]);
      const { records, places } = await fixture.stored(waiter.resource);
      expect(records[waiter.requestId]).toMatchObject({ state: 'held', returnable: '1' });
      expect(places.past).toBe(0);
    });

    it('a lease after a lease of a resource with many holders and waiters', async () => {
      const many = await semaphore(18);
      const call = await holds(many);
      for (let count = 0; count < 17; count += 1) await holds(many, { ttlMs: 60_000 });
      is('waiting', await (await fixture.request('s2', many)).queue());
      const next = await held(many);
      expect(await renew([call.toRenew(), next.toRenew()])).toEqual([whole, whole]);
      expect((await fixture.stored(next.resource)).numbers).toMatchObject({ queue: '0', isSpilled: '0' });
    });

    it('names that the index of names has lost, each under its own name', async () => {
      const calls = [await held()];
      calls.push(await held(calls[0]?.resource));
      for (const { resource } of calls) {
        await fixture.setNumbers(resource, { isListed: 0 });
        await fixture.redis.command('ZREM', indexOf(resource), resource.name);
        expect((await fixture.stored(resource)).isIndexed).toBe(false);
      }
      await renew(calls.map((call) => call.toRenew()));
      for (const { resource } of calls) expect((await fixture.stored(resource)).isIndexed).toBe(true);
    });

    it('and lets the keys of each resource expire by the end of its own leases', async () => {
      const retentionMs = 3_600_000;
      const short = await held();
      const long = await held(short.resource, { ttlMs: 7_200_000 });
      for (const { resource } of [short, long]) await fixture.passInUse(resource, 0);
      // A waiter: its queue must not expire before the state.
      is('waiting', await (await fixture.request('s1', long.resource)).queue());
      await fixture.setNumbers(long.resource, { expires: 0 });
      await fixture.setNumbers(short.resource, { expires: 0 });
      await renew([long.toRenew(), short.toRenew()]);
      const expiry = async (part: 'state' | 'queue', { resource }: Requester) =>
        Number(await fixture.redis.command('PEXPIRETIME', fixture.key(resource, part)));
      const nowMs = Number(await fixture.now()) / 1000;
      const marginMs = 60_000;
      const expected = (ttlMs: number) => Math.floor(nowMs + ttlMs + retentionMs + marginMs);
      expect(await expiry('state', long)).toBe(expected(7_200_000));
      expect(await expiry('queue', long)).toBe(expected(7_200_000));
      expect(await expiry('state', short)).toBe(expected(TTL_MS));
      expect(await expiry('queue', short)).toBe(-2);
    });

    it('and leaves the expiry of a set that nobody needs as it is', async () => {
      const moved = await held();
      is('waiting', await (await fixture.request('s1', moved.resource)).queue());
      const call = await held(moved.resource);
      const waiter = await fixture.request('s1', call.resource);
      is('waiting', await waiter.queue());
      is('withdrawn', await waiter.withdraw());
      await fixture.passInUse(call.resource, 1000);
      await fixture.setNumbers(call.resource, { detached: 0 });
      const live = fixture.key(call.resource, 'live');
      await fixture.redis.command('PEXPIREAT', live, 5_000_000_000_000);
      await fixture.setNumbers(moved.resource, { expires: 0 });
      expect(await renew([moved.toRenew(), call.toRenew()])).toEqual([whole, whole]);
      expect(await fixture.redis.command('PEXPIRETIME', live)).toBe('5000000000000');
    });

    it('as a script that has run now: a stall begins a grace for silent servers of this resource only', async () => {
      const stalled = await held();
      const active = await held(stalled.resource);
      await fixture.pass(stalled.resource, 3500);
      await renew([stalled.toRenew(), active.toRenew()]);
      const now = Number(await fixture.now());
      const graceOf = async ({ resource }: Requester) => {
        const { seen, grace } = (await fixture.stored(resource)).numbers;
        return [Number(seen), Number(grace)];
      };
      expect(await graceOf(stalled)).toEqual([now, now + 3_000_000]);
      expect(await graceOf(active)).toEqual([now, 0]);
    });
  });

  describe('leaves a lease as it is', () => {
    it('without the right secret', async () => {
      await expectLeft((await held()).toRenew('guess'));
    });

    it('after another stream took over the lease', async () => {
      const call = await held();
      const newer = await fixture.request('s2', call.resource, { requestId: call.requestId, stream: true });
      is('granted', await newer.takeOver(call.secret));
      await expectLeft(call.toRenew());
      expect(await renew([newer.toRenew(call.secret)])).toEqual([whole]);
    });

    it('after its release', async () => {
      const call = await held();
      is('released', await call.release(call.secret));
      await expectLeft(call.toRenew());
    });

    it('after its end, also if the end was not recorded', async () => {
      const call = await held();
      await fixture.passInUse(call.resource, TTL_MS);
      await expectLeft(call.toRenew());
    });

    it('after its revocation, although its permits stay in use', async () => {
      const call = await held();
      await fixture.revoke(call);
      await expectLeft(call.toRenew());
    });

    it('if the store does not know the request', async () => {
      await expectLeft((await fixture.request('s1', fixture.resource(), { stream: true })).toRenew());
      const call = await held();
      const unknown = await fixture.request('s1', call.resource, { stream: true });
      await expectLeft(unknown.toRenew());
    });

    it('if the request still waits, or has an offer', async () => {
      const call = await held();
      const waiter = await fixture.request('s2', call.resource, { stream: true });
      is('waiting', await waiter.queue());
      await expectLeft(waiter.toRenew());
      is('released', await call.release(call.secret));
      expect(await fixture.idsIn(call.resource, 'offers')).toEqual([waiter.requestId]);
      await expectLeft(waiter.toRenew());
    });

    it('if its record, its end or its whole resource was deleted manually', async () => {
      const call = await held();
      await fixture.redis.command('HDEL', fixture.key(call.resource, 'state'), `r${call.requestId}`);
      await expectLeft(call.toRenew());
      const headless = await held();
      await fixture.redis.command('HDEL', fixture.key(headless.resource, 'state'), 'h');
      await expectLeft(headless.toRenew());
      const gone = await held();
      await fixture.redis.command('DEL', fixture.key(gone.resource, 'state'));
      await expectLeft(gone.toRenew());
      const many = await semaphore(40);
      const lost = await holds(many);
      for (let count = 0; count < 17; count += 1) await holds(many);
      await fixture.redis.command('ZREM', fixture.key(many, 'ends'), lost.requestId);
      await expectLeft(lost.toRenew());
    });

    it('if its end was deleted manually, although the same request id is held on the name before', async () => {
      const leases: Requester[] = [];
      const one = await semaphore(40);
      for (const resource of [one, await semaphore(40, one)]) {
        for (let count = 0; count < 17; count += 1) await holds(resource);
        const requestId = leases[0]?.clientRequestId;
        leases.push(await holds(resource, requestId === undefined ? {} : { requestId }));
      }
      const [first, second] = leases as [Requester, Requester];
      await fixture.redis.command('ZREM', fixture.key(second.resource, 'ends'), second.requestId);
      const before = await fixture.stored(second.resource);
      expect(await renew([first.toRenew(), second.toRenew()])).toEqual([whole, undefined]);
      expect(await fixture.stored(second.resource)).toEqual(before);
    });

    it('if the request waits again because its record was deleted manually, with the end of its lease left over', async () => {
      const call = await held();
      await fixture.redis.command('HDEL', fixture.key(call.resource, 'state'), `r${call.requestId}`);
      const { clientRequestId: requestId } = call;
      const again = await fixture.request('s1', call.resource, { requestId, ttlMs: TTL_MS, stream: true });
      is('waiting', await again.queue());
      await expectLeft(again.toRenew());
    });

    it('if another lease of the resource has expired', async () => {
      const one = await semaphore(2);
      const call = await holds(one);
      await holds(one, { ttlMs: 3000 });
      await fixture.passInUse(one, 4000);
      await expectLeft(call.toRenew());
    });

    it.each(['head', 'sorted set'])('if its own end was edited manually in the %s', async (place) => {
      const one = await semaphore(40);
      const call = await holds(one);
      for (let count = 0; place === 'sorted set' && count < 17; count += 1) await holds(one);
      await fixture.setEnd(call, Number(await fixture.now()) - 1);
      await expectLeft(call.toRenew());
    });

    it('if a waiter may fit', async () => {
      const one = await semaphore(2);
      const call = await holds(one);
      const other = await holds(one);
      // A ttl for which the waiter gets an offer, which expires.
      const waiter = await fixture.request('s2', one, { ttlMs: OFFERED_TTL_MS, permits: 2 });
      is('waiting', await waiter.queue());
      is('released', await other.release(other.secret));
      await expectLeft(call.toRenew());
    });

    it('if an offer has lapsed', async () => {
      const one = await semaphore(2);
      const [call, other] = [await holds(one), await holds(one)];
      const waiter = await fixture.request('s2', one);
      is('waiting', await waiter.queue());
      is('released', await other.release(other.secret));
      expect(await fixture.idsIn(one, 'offers')).toEqual([waiter.requestId]);
      await fixture.passInUse(one, 3000);
      await expectLeft(call.toRenew());
    });

    it('if a kept place is due', async () => {
      const call = await held(undefined, { ttlMs: 60_000 });
      const waiter = await fixture.request('s2', call.resource);
      is('waiting', await waiter.queue());
      is('withdrawn', await waiter.withdraw());
      await fixture.passInUse(call.resource, 10_000);
      await expectLeft(call.toRenew());
    });

    it('if a tombstone is due', async () => {
      const one = await semaphore(2);
      const call = await holds(one, { ttlMs: 90_000 });
      const other = await holds(one);
      is('released', await other.release(other.secret));
      await fixture.passInUse(one, 59_999);
      expect((await renew([call.toRenew()]))[0]).toBeDefined();
      await fixture.passInUse(one, 1);
      await expectLeft(call.toRenew());
    });

    it('while a limit change is unfinished', async () => {
      const one = await semaphore(2);
      const call = await holds(one);
      await fixture.redis.command('EVAL', SET_MOVING, 1, fixture.key(one, 'state'));
      await expectLeft(call.toRenew());
    });

    it('after the clock of Redis was set back by more than 0.1 s', async () => {
      const call = await held();
      await fixture.pass(call.resource, -100);
      expect(await renew([call.toRenew()])).toEqual([whole]);
      await fixture.pass(call.resource, -101);
      await expectLeft(call.toRenew());
    });
  });

  it('answers a repeated renewal as before', async () => {
    const calls = [await held()];
    calls.push(await held(calls[0]?.resource));
    const leases = calls.map((call) => call.toRenew());
    expect(await renew(leases)).toEqual([whole, whole]);
    const before = await Promise.all(calls.map(({ resource }) => fixture.stored(resource)));
    expect(await renew(leases)).toEqual([whole, whole]);
    expect(await Promise.all(calls.map(({ resource }) => fixture.stored(resource)))).toEqual(before);
  });
});

const SET_MOVING = `redis.call('HSET', KEYS[1], 'moving', cmsgpack.pack({ misfits = true }))`;

/** The key of the index of names of the resource's bucket. */
function indexOf({ service, name }: Resource): string {
  return namesKeys(PREFIX, service, bucketOf(name))[0];
}
