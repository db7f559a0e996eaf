import type { Resource } from '../../src/leases/lease';
import type { RevokeTarget } from '../../src/leases/lease-store';
import { listStep } from '../support/leases/lease-views';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { failureOf, is } from '../support/reply-kinds';

/** Redis has the policy `noeviction` and no free memory. Holders can renew and release. New requests are refused. */
describe('when the memory of Redis is full', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());
  afterEach(() => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0'));

  const fill = () => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');

  it('an acquire fails as not carried out, and stores nothing', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    await fill();
    expect(await failureOf(alice.try())).toMatchObject({ kind: 'full', carriedOut: 'no' });
    await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    expect((await fixture.stored(lock)).records).toEqual({});
    is('granted', await alice.try());
  });

  it('a lease is renewed and released', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 10_000 });
    is('granted', await alice.try());
    await fixture.passInUse(lock, 5000);
    await fill();
    expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(10_000);
    is('released', await alice.release(alice.secret));
    expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
  });

  it('a stream takes over, renews and releases a lease', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    is('granted', await alice.try());
    await fill();
    const stream = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
    is('granted', await stream.takeOver(alice.secret));
    is('granted', await stream.keepAlive(alice.secret));
    is('released', await stream.releaseAfterLoss(alice.secret));
  });

  it('a released lock is offered to the next waiter and claimed', async () => {
    const lock = fixture.resource();
    const [alice, bob, carol] = [
      await fixture.request('s2', lock),
      await fixture.request('s1', lock),
      await fixture.request('s1', lock),
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
    expect((await (await fixture.server('s1')).store.inspect(lock)).holderCount).toBe(1);
  });

  it('an expired lease is purged, and the lock is offered to the next waiter', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 5000 });
    const bob = await fixture.request('s1', lock);
    is('granted', await alice.try());
    await bob.queue();
    await fixture.passInUse(lock, 5001);
    await fill();
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    is('granted', await bob.claim());
  });

  it('permits of a semaphore are renewed, released and granted to the next waiter', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 3);
    const alice = await fixture.request('s1', semaphore, { permits: 3, ttlMs: 10_000 });
    const bob = await fixture.request('s1', semaphore, { permits: 2 });
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    await fixture.passInUse(semaphore, 5000);
    await fill();
    expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(10_000);
    is('released', await alice.release(alice.secret));
    is('granted', await bob.claim());
  });

  it('a limit is raised, lowered and set for the first time', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 1);
    is('granted', await (await fixture.request('s1', semaphore)).try());
    const [next, offered] = [await fixture.request('s2', semaphore), await fixture.request('s2', semaphore)];
    for (const waiter of [next, offered]) is('waiting', await waiter.queue());
    await fill();
    is('set', await fixture.setLimit(semaphore, 3));
    is('granted', await next.claim());
    expect(is('set', await fixture.setLimit(semaphore, 1)).view).toMatchObject({
      usedCount: 2,
      waiterCount: 1,
    });
    is('set', await fixture.setLimit(fixture.resource('semaphore'), 5));
  });

  it('leases, an offer and a waiter are revoked', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const [alice, bob] = [await fixture.request('s1', semaphore), await fixture.request('s1', semaphore)];
    const [carol, dave] = [await fixture.request('s2', semaphore), await fixture.request('s2', semaphore)];
    for (const one of [alice, bob]) is('granted', await one.try());
    for (const one of [carol, dave]) is('waiting', await one.queue());
    await fill();
    const { store } = await fixture.server('s1');
    const revoke = async (target: RevokeTarget, force: boolean) =>
      is('revoked', await store.revoke(semaphore, { target, force, after: undefined })).count;
    await fixture.revoke(alice);
    expect(await revoke({ kind: 'token', fencingToken: bob.token ?? 0n }, true)).toBe(1); // carol gets an offer
    const enqueueTimeUs = BigInt((await fixture.stored(semaphore)).records[dave.requestId]?.queuedAt ?? 0);
    expect(await revoke({ kind: 'waiter', position: 1, enqueueTimeUs }, false)).toBe(1);
    expect(await revoke({ kind: 'all-holders' }, false)).toBe(2);
    for (const one of [carol, dave])
      expect(await one.claim()).toEqual({ kind: 'finished', cause: 'revoked' });
    expect(await alice.renew(alice.secret)).toEqual({ kind: 'finished', cause: 'revoked' });
  });

  it('a semaphore is deleted with its holders and waiters', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 1);
    const holder = await fixture.request('s1', semaphore);
    const waiter = await fixture.request('s1', semaphore);
    is('granted', await holder.try());
    is('waiting', await waiter.queue());
    await fill();
    is('removed', await fixture.remove(semaphore, { force: true }));
    expect(await waiter.claim()).toEqual({ kind: 'unknown-resource' });
    expect(await holder.renew(holder.secret)).toEqual({ kind: 'finished', cause: 'revoked' });
  });

  it('a list shows the locks in use, and takes forgotten names out of the index', async () => {
    const [held, forgotten] = [fixture.resource(), fixture.resource()];
    for (const lock of [held, forgotten]) is('granted', await (await fixture.request('s1', lock)).try());
    await fixture.redis.command('DEL', fixture.key(forgotten, 'state'));
    await fill();
    const { store } = await fixture.server('s1');
    const listed = async (lock: Resource) => (await store.listViews(listStep(lock))).items.length;
    expect([await listed(held), await listed(forgotten)]).toEqual([1, 0]);
    expect((await fixture.stored(forgotten)).isIndexed).toBe(false);
  });
});
