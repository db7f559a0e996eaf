import { LOCK_LIMIT } from '../../src/engine/leases/limits';
import { eventually } from '../support/eventually';
import { PermitsFixture } from '../support/permits-fixture';
import type { Requester } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

describe('permits-touch', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  const touchAll = (waiters: readonly Requester[]) => {
    const [{ server, resource }] = waiters as [Requester];
    return server.store.touch(
      resource,
      waiters.map(({ wanted }) => wanted),
    );
  };

  it('tells each waiter its position, and when the earliest lease ends', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 5000, holderId: 'alice' });
    await alice.try();
    const waiters = [
      await on.request('s1', lock),
      await on.request('s1', lock),
      await on.request('s1', lock),
    ];
    for (const waiter of waiters) await waiter.queue();
    const { waiters: words, snapshot } = await touchAll([...waiters].reverse());
    expect(words).toEqual([3, 2, 1]);
    expect(snapshot).toMatchObject({ waiterCount: 3, holder: { holderId: 'alice' } });
    expect(snapshot.earliestEndMs).toBeGreaterThan(4000);
    expect(snapshot.earliestEndMs).toBeLessThanOrEqual(5000);
  });

  it('says there is no end when nobody holds', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock);
    await alice.try();
    await alice.release(alice.secret);
    expect((await (await on.server('s1')).store.touch(lock, [])).snapshot).toEqual({
      earliestEndMs: undefined,
      waiterCount: 0,
      holder: undefined,
      holderEndMs: undefined,
      limit: LOCK_LIMIT,
      usedCount: 0,
    });
  });

  it('tells apart who has to claim and who was superseded', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock);
    await alice.try();
    const [offered, taken, left] = [
      await on.request('s1', lock),
      await on.request('s1', lock),
      await on.request('s1', lock),
    ];
    for (const waiter of [offered, taken, left]) await waiter.queue();
    await (await on.request('s2', lock, { requestId: taken.requestId })).queue();
    await left.withdraw();
    await alice.release(alice.secret);
    const unknown = await on.request('s1', lock);
    expect((await touchAll([offered, taken, left, unknown])).waiters).toEqual([
      'recheck',
      'superseded',
      'recheck',
      'recheck',
    ]);
  });

  it('sees that a lease has ended and offers the lock, with a hint if the waiter is its own', async () => {
    const lock = on.resource();
    await (await on.request('s1', lock, { ttlMs: 5000 })).try();
    const bob = await on.request('s1', lock);
    await bob.queue();
    await on.passInUse(lock, 5001);
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    expect((await on.server('s1')).looks).toContain(bob.requestId);
    is('granted', await bob.claim());
  });

  it('brings an offer whose hint was lost', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock);
    const bob = await on.request('s2', lock);
    await alice.try();
    await bob.queue();
    await alice.release(alice.secret);
    const s2 = await on.server('s2');
    s2.looks = [];
    // Even if it does not ask after that very waiter.
    await s2.store.touch(lock, [(await on.request('s2', lock)).wanted]);
    expect(s2.looks).toEqual([bob.requestId]);
  });

  it('hints at the server whose waiter it offers to', async () => {
    const lock = on.resource();
    const s3 = await on.server('s3');
    await on.listen(s3);
    await (await on.request('s1', lock, { ttlMs: 5000 })).try();
    const bob = await on.request('s3', lock);
    await bob.queue();
    await on.passInUse(lock, 5001);
    await on.beat(lock, 's3');
    await (await on.server('s1')).store.touch(lock, []);
    await eventually('the hint', () => s3.hinted.includes(bob.requestId));
  });

  it('changes nothing for a lease or a wait', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock);
    const bob = await on.request('s1', lock);
    await alice.try();
    await bob.queue();
    const before = await on.stored(lock);
    await touchAll([alice, bob]);
    const after = await on.stored(lock);
    expect(after.records).toEqual(before.records);
    expect(after.sets.ends).toEqual(before.sets.ends);
    expect(after.sets.queue).toEqual(before.sets.queue);
  });
});
