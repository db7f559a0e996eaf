import { eventually } from '../support/eventually';
import type { Resource } from '../../src/engine/leases/lease';
import { PARTS, PermitsFixture } from '../support/permits-fixture';
import { is } from '../support/reply-kinds';

const RETENTION_MS = 600;

/** Idle names cost nothing for ever, and a key's own expiry never decides about a lease. */
const EPOCH = /^test:\{\d+\}:epoch$/;

describe('expiry of keys', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open({ retentionMs: RETENTION_MS });
  });
  afterAll(() => on.close());

  /** When each of the keys that are there goes; -1: never. */
  async function goneAt(resource: Resource): Promise<number[]> {
    const times = await Promise.all(
      PARTS.map((part) => on.redis.command('PEXPIRETIME', on.key(resource, part))),
    );
    return times.map(Number).filter((time) => time !== -2);
  }

  async function nowMs(): Promise<number> {
    const [seconds, us] = (await on.redis.command('TIME')) as [string, string];
    return Number(seconds) * 1000 + Number(us) / 1000;
  }

  it('comes a retention time after the last end, for all keys of the name alike', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 90_000 });
    is('granted', await alice.try());
    await (await on.request('s1', lock)).queue();
    const [end] = (await on.stored(lock)).sets.ends;
    const expected = Math.floor(Number(end?.score) / 1000) + RETENTION_MS;
    expect(await goneAt(lock)).toEqual([expected, expected, expected, expected]);
  });

  it('is put off by each renewal, and not brought nearer by anything', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 90_000 });
    await alice.try();
    const [first] = (await goneAt(lock)) as [number];
    is('granted', await alice.renew(alice.secret, 200_000));
    const [second] = (await goneAt(lock)) as [number];
    expect(second).toBeGreaterThan(first + 100_000);
    is('released', await alice.release(alice.secret));
    for (const time of await goneAt(lock)) expect(time).toBe(second);
  });

  it('is put off by waiters whose leases have no end yet', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 100 });
    await alice.try();
    const bob = await on.request('s1', lock);
    await bob.queue();
    for (let i = 0; i < 3; i += 1) {
      const before = await nowMs();
      await bob.touch();
      for (const time of await goneAt(lock))
        expect(time).toBeGreaterThanOrEqual(Math.floor(before) + RETENTION_MS);
    }
  });

  it('leaves no key without one, whatever was done (chapter 17, 24)', async () => {
    const lock = on.resource();
    const [alice, bob, carol] = [
      await on.request('s1', lock),
      await on.request('s1', lock),
      await on.request('s2', lock),
    ];
    await alice.try();
    await bob.queue();
    await carol.queue();
    await bob.withdraw();
    await alice.release(alice.secret);
    await carol.claim();
    await carol.giveBack();
    expect(await goneAt(lock)).not.toContain(-1);
    for (const key of (await on.redis.command('KEYS', '*')) as string[]) {
      if (EPOCH.test(key)) continue; // one for each of the 1,024 buckets, whatever is kept there
      expect(await on.redis.command('PTTL', key)).not.toBe('-1');
    }
  });

  it('takes everything away, and tokens go on rising', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 100 });
    const { fencingToken } = is('granted', await alice.try());
    await eventually('the keys to be gone', async () => (await goneAt(lock)).length === 0);
    const again = is('granted', await (await on.request('s1', lock, { requestId: alice.requestId })).try());
    expect(again.fencingToken).toBeGreaterThan(fencingToken);
  });

  it('takes a semaphore away that a request has made, and leaves a limit that was set', async () => {
    const [made, set] = [on.resource('semaphore'), on.resource('semaphore')];
    await on.setLimit(set, 2);
    for (const semaphore of [made, set])
      is('granted', await (await on.request('s1', semaphore, { initialLimit: 9, ttlMs: 100 })).try());
    for (const semaphore of [made, set]) {
      await eventually('the keys to be gone', async () => (await goneAt(semaphore)).length === 0);
    }
    const ask = async (semaphore: Resource) => (await on.request('s1', semaphore, { permits: 3 })).try();
    expect(await ask(made)).toEqual({ kind: 'unknown-resource' });
    expect(await ask(set)).toEqual({ kind: 'never-fits', limit: 2 });
    expect(await on.redis.command('PTTL', on.limitKey(set))).toBe('-1');
    expect(await on.redis.command('EXISTS', on.limitKey(made))).toBe('0');
    const { store } = await on.server('s1');
    expect((await store.inspect(set)).limit).toBe(2);
    expect((await store.inspect(made)).limit).toBeUndefined();
  });
});
