import { StoreFailure } from '../../src/engine/errors';
import { PermitsFixture } from '../support/permits-fixture';
import { is } from '../support/reply-kinds';

/** Redis out of memory under noeviction: whoever holds can keep and give back, nobody new gets in. */
describe('when memory is full', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());
  afterEach(() => on.redis.command('CONFIG', 'SET', 'maxmemory', '0'));

  const fill = () => on.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');

  it('an acquire is refused, and nothing was done', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock);
    await fill();
    const failure = await alice.try().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreFailure);
    expect(failure).toMatchObject({ kind: 'full', carriedOut: 'no' });
    await on.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    expect((await on.stored(lock)).records).toEqual({});
    is('granted', await alice.try());
  });

  it('a lease is renewed and released', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 10_000 });
    is('granted', await alice.try());
    await on.passInUse(lock, 5000);
    await fill();
    expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(10_000);
    is('released', await alice.release(alice.secret));
    expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
  });

  it('a stream attaches and goes on renewing', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock);
    is('granted', await alice.try());
    await fill();
    const stream = await on.request('s2', lock, { requestId: alice.requestId, stream: true });
    is('granted', await stream.takeOver(alice.secret));
    is('granted', await stream.keepAlive(alice.secret));
    is('released', await stream.releaseAfterLoss(alice.secret));
  });

  it('the lock goes on to who waits already: released, offered, claimed', async () => {
    const lock = on.resource();
    const [alice, bob, carol] = [
      await on.request('s1', lock),
      await on.request('s1', lock),
      await on.request('s1', lock),
    ];
    is('granted', await alice.try());
    await bob.queue();
    await carol.queue();
    await fill();
    expect((await bob.touch()).waiters).toEqual([1]);
    is('released', await alice.release(alice.secret));
    is('granted', await bob.claim());
    is('withdrawn', await bob.giveBack());
    is('granted', await carol.withdraw());
    expect((await (await on.server('s1')).store.inspect(lock)).holderCount).toBe(1);
  });

  it('what has expired is purged and offered on', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 5000 });
    const bob = await on.request('s1', lock);
    is('granted', await alice.try());
    await bob.queue();
    await on.passInUse(lock, 5001);
    await fill();
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    is('granted', await bob.claim());
  });

  it('permits are renewed, released, and go on to who waits', async () => {
    const semaphore = on.resource('semaphore');
    await on.setLimit(semaphore, 3);
    const alice = await on.request('s1', semaphore, { permits: 3, ttlMs: 10_000 });
    const bob = await on.request('s1', semaphore, { permits: 2 });
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    await on.passInUse(semaphore, 5000);
    await fill();
    expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(10_000);
    is('released', await alice.release(alice.secret));
    is('granted', await bob.claim());
  });

  it('a limit is raised, lowered and set for the first time', async () => {
    const semaphore = on.resource('semaphore');
    await on.setLimit(semaphore, 1);
    is('granted', await (await on.request('s1', semaphore)).try());
    const [next, offered] = [await on.request('s1', semaphore), await on.request('s1', semaphore)];
    for (const waiter of [next, offered]) is('waiting', await waiter.queue());
    await fill();
    is('set', await on.setLimit(semaphore, 3));
    is('granted', await next.claim());
    expect(is('set', await on.setLimit(semaphore, 1)).view).toMatchObject({ usedCount: 2, waiterCount: 1 });
    is('set', await on.setLimit(on.resource('semaphore'), 5));
  });

  it('a semaphore is deleted with all that holds and waits', async () => {
    const semaphore = on.resource('semaphore');
    await on.setLimit(semaphore, 1);
    const holder = await on.request('s1', semaphore);
    const waiter = await on.request('s1', semaphore);
    is('granted', await holder.try());
    is('waiting', await waiter.queue());
    await fill();
    is('removed', await on.remove(semaphore, { force: true }));
    expect(await waiter.claim()).toEqual({ kind: 'unknown-resource' });
    expect(await holder.renew(holder.secret)).toEqual({ kind: 'finished', cause: 'revoked' });
  });
});
