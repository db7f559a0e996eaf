import { eventually } from '../support/eventually';
import type { Resource } from '../../src/leases/lease';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { PARTS, type Part } from '../support/leases/lease-stored';
import { OFFERED_TTL_MS } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

const RETENTION_MS = 600;

/** Epochs, the limits that SetSemaphoreLimit has set, and the indexes of the names of semaphores. */
const LASTING = /^test:\{\d+\}:(epoch$|s:limit:|s\d+:names$)/;

/** Keys of idle names expire. The expiry of a key never decides about a lease. */
describe('the expiry of keys', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ retentionMs: RETENTION_MS });
  });
  afterAll(() => fixture.close());

  /** The expiry time of each existing key (ms); -1: none. */
  async function goneAt(resource: Resource, parts: readonly Part[] = PARTS): Promise<number[]> {
    const times = await Promise.all(
      parts.map((part) => fixture.redis.command('PEXPIRETIME', fixture.key(resource, part))),
    );
    return times.map(Number).filter((time) => time !== -2);
  }

  async function nowMs(): Promise<number> {
    const [seconds, us] = (await fixture.redis.command('TIME')) as [string, string];
    return Number(seconds) * 1000 + Number(us) / 1000;
  }

  it('is the retention time after the end of the last lease and a tenth of that time, for all keys of the name', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 90_000 });
    is('granted', await alice.try());
    await (await fixture.request('s1', lock)).queue();
    const [end] = (await fixture.stored(lock)).sets.ends;
    const expected = Math.floor(Number(end?.score) / 1000) + RETENTION_MS * 1.1;
    expect(await goneAt(lock)).toEqual([expected, expected, expected]);
  });

  it('moves later with each renewal, and never earlier', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 90_000 });
    await alice.try();
    const [first] = (await goneAt(lock)) as [number];
    is('granted', await alice.renew(alice.secret, 200_000));
    const [second] = (await goneAt(lock)) as [number];
    expect(second).toBeGreaterThan(first + 100_000);
    is('released', await alice.release(alice.secret));
    for (const time of await goneAt(lock)) expect(time).toBe(second);
  });

  it('moves later with a renewal also for offers, waiters and kept places', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const local = () => fixture.request('s1', semaphore, { ttlMs: 90_000 });
    const remote = () => fixture.request('s2', semaphore, { ttlMs: OFFERED_TTL_MS });
    const [alice, bob] = [await local(), await local()];
    const [carol, dave, erin] = [await remote(), await remote(), await remote()];
    for (const holder of [alice, bob]) is('granted', await holder.try());
    for (const waiter of [carol, dave, erin]) is('waiting', await waiter.queue());
    await dave.withdraw();
    is('released', await bob.release(bob.secret));
    is('granted', await alice.renew(alice.secret, 200_000));
    const { sets } = await fixture.stored(semaphore);
    expect([sets.offers.length, sets.queue.length, sets.detached.length]).toEqual([1, 1, 1]);
    const times = await goneAt(semaphore);
    expect(times.length).toBe(5);
    expect(new Set(times).size).toBe(1);
  });

  it('is moved later for the servers of waiters when a request waits again', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 90_000 });
    is('granted', await alice.try());
    const bob = await fixture.request('s1', lock, { maxWaiters: 0 });
    is('waiting', await (await fixture.request('s1', lock)).queue());
    await fixture.redis.command('DEL', fixture.key(lock, 'queue'));
    is('queue-full', await bob.queue());
    is('granted', await alice.renew(alice.secret, 200_000));
    const [state, live] = await goneAt(lock, ['state', 'live']);
    expect(live).toBeLessThan(Number(state));
    is('waiting', await (await fixture.request('s1', lock)).queue());
    expect(new Set(await goneAt(lock)).size).toBe(1);
  });

  it('moves later with each touch of a waiter', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 100 });
    await alice.try();
    const bob = await fixture.request('s1', lock);
    await bob.queue();
    for (let i = 0; i < 3; i += 1) {
      const before = await nowMs();
      await bob.touch();
      // The lease and the offer may end between two touches. Their keys need no later expiry.
      for (const time of await goneAt(lock, ['state', 'queue', 'live']))
        expect(time).toBeGreaterThanOrEqual(Math.floor(before) + RETENTION_MS);
    }
  });

  it('is set for every key after any operation (chapter 17, 24)', async () => {
    const lock = fixture.resource();
    const [alice, bob, carol] = [
      await fixture.request('s1', lock),
      await fixture.request('s1', lock),
      await fixture.request('s2', lock),
    ];
    await alice.try();
    await bob.queue();
    await carol.queue();
    await bob.withdraw();
    await alice.release(alice.secret);
    await carol.claim();
    await carol.giveBack();
    expect(await goneAt(lock)).not.toContain(-1);
    for (const key of (await fixture.redis.command('KEYS', '*')) as string[]) {
      if (LASTING.test(key)) continue;
      expect(await fixture.redis.command('PTTL', key)).not.toBe('-1');
    }
  });

  it('removes all keys, and later fencing tokens are still greater', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 100 });
    const { fencingToken } = is('granted', await alice.try());
    await eventually('the keys to be gone', async () => (await goneAt(lock)).length === 0);
    const again = is(
      'granted',
      await (await fixture.request('s1', lock, { requestId: alice.requestId })).try(),
    );
    expect(again.fencingToken).toBeGreaterThan(fencingToken);
  });

  it('removes a semaphore that a request created, but keeps a limit that SetSemaphoreLimit set', async () => {
    const [made, set] = [fixture.resource('semaphore'), fixture.resource('semaphore')];
    await fixture.setLimit(set, 2);
    for (const semaphore of [made, set])
      is('granted', await (await fixture.request('s1', semaphore, { initialLimit: 9, ttlMs: 100 })).try());
    for (const semaphore of [made, set]) {
      await eventually('the keys to be gone', async () => (await goneAt(semaphore)).length === 0);
    }
    const ask = async (semaphore: Resource) => (await fixture.request('s1', semaphore, { permits: 3 })).try();
    expect(await ask(made)).toEqual({ kind: 'unknown-resource' });
    expect(await ask(set)).toEqual({ kind: 'never-fits', limit: 2 });
    expect(await fixture.redis.command('PTTL', fixture.limitKey(set))).toBe('-1');
    expect(await fixture.redis.command('EXISTS', fixture.limitKey(made))).toBe('0');
    const { store } = await fixture.server('s1');
    expect((await store.inspect(set)).limit).toBe(2);
    expect((await store.inspect(made)).limit).toBeUndefined();
  });
});
