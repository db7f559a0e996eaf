import type { Resource } from '../../src/engine/leases/lease';
import { LOCK_LIMIT } from '../../src/engine/leases/limits';
import { PARTS, PermitsFixture } from '../support/permits-fixture';
import { is } from '../support/reply-kinds';

/** No script makes a lease without an end; where a hand wrote one, whoever meets it repairs it. */
describe('somebody writes a lock without an expiry (chapter 24)', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  async function keysWithoutExpiry(lock: Resource): Promise<string[]> {
    const ttls = await Promise.all(PARTS.map((part) => on.redis.command('PTTL', on.key(lock, part))));
    return PARTS.filter((_, index) => ttls[index] === '-1');
  }

  it('as permits that are taken, by nobody: the next who asks has them', async () => {
    const lock = on.resource();
    await on.redis.command('HSET', on.key(lock, 'state'), 'limit', LOCK_LIMIT, 'used', LOCK_LIMIT);
    is('granted', await (await on.request('s1', lock)).try());
    is('refused', await (await on.request('s2', lock)).try());
    expect(await keysWithoutExpiry(lock)).toEqual([]);
  });

  it('as a holder that nobody knows: there is no lease behind it, and the next who asks has the lock', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock);
    is('granted', await alice.try());
    await on.redis.command('DEL', on.key(lock, 'ends'));
    await on.redis.command('ZADD', on.key(lock, 'ends'), '+inf', 'ghost');
    is('granted', await (await on.request('s2', lock)).try());
    is('gone', await alice.renew(alice.secret));
    expect(await keysWithoutExpiry(lock)).toEqual([]);
  });

  it('as an end that never comes: the lease lives on for its ttl, counted from whoever meets it', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    await on.redis.command('ZADD', on.key(lock, 'ends'), 'XX', '+inf', alice.requestId);
    const bob = await on.request('s1', lock);
    is('waiting', await bob.queue());
    await on.passInUse(lock, 19_000);
    await on.beat(lock, 's1');
    expect((await bob.touch()).waiters).toEqual([1]);
    await on.passInUse(lock, 1000);
    await on.beat(lock, 's1');
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    is('finished', await alice.try());
    is('granted', await bob.claim());
  });

  it('as an end that never comes, to a holder that lives: its renewal brings it back to its ttl', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 20_000, stream: true });
    is('granted', await alice.try());
    await on.redis.command('ZADD', on.key(lock, 'ends'), 'XX', '+inf', alice.requestId);
    expect(is('granted', await alice.try()).remainingMs).toBe(20_000);
    expect(is('granted', await alice.keepAlive(alice.secret)).remainingMs).toBe(20_000);
    await on.passInUse(lock, 20_000);
    is('granted', await (await on.request('s1', lock)).try());
  });

  it('as keys that Redis never drops: the lease ends, and they have an expiry again', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await alice.try());
    for (const part of PARTS) await on.redis.command('PERSIST', on.key(lock, part));
    expect(await keysWithoutExpiry(lock)).not.toEqual([]);
    await on.passInUse(lock, 20_000);
    is('granted', await (await on.request('s1', lock)).try());
    expect(await keysWithoutExpiry(lock)).toEqual([]);
  });
});
