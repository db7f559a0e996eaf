import { brokenInvariants } from '../support/leases/lease-invariants';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { is } from '../support/reply-kinds';

/** Offers, kept places and servers that are judged a second time, or one after the other. */
describe('a script that judges offers and servers', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  it('extends an offer in a stall, although the kept place of the waiter was extended before', async () => {
    const lock = fixture.resource();
    const [alice, bob, carol] = [
      await fixture.request('s1', lock, { ttlMs: 60_000 }),
      await fixture.request('s2', lock),
      await fixture.request('s1', lock),
    ];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('waiting', await carol.queue());
    is('withdrawn', await bob.withdraw());
    await fixture.pass(lock, 12_000);
    await carol.touch();
    expect((await fixture.stored(lock)).records[bob.requestId]).toMatchObject({ extended: '1' });
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    await fixture.pass(lock, 5000);
    await carol.touch();
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
  });

  it('extends a kept place in a stall, although the offer of the waiter was extended before', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s2', lock)];
    const { store } = await fixture.server('s1');
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    await fixture.pass(lock, 5000);
    await store.touch(lock, []);
    expect((await fixture.stored(lock)).records[bob.requestId]).toMatchObject({ extended: '1' });
    await fixture.passInUse(lock, 3001);
    await store.touch(lock, []);
    await fixture.pass(lock, 12_000);
    await store.touch(lock, []);
    expect(await fixture.idsIn(lock, 'detached')).toEqual([bob.requestId]);
  });

  it('forgets one kept place that is due, and counts the other', async () => {
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock, { ttlMs: 60_000 })).try());
    const [bob, carol] = [await fixture.request('s1', lock), await fixture.request('s1', lock)];
    for (const one of [bob, carol]) {
      await fixture.passInUse(lock, 5000);
      is('waiting', await one.queue());
      is('withdrawn', await one.withdraw());
    }
    await fixture.passInUse(lock, 5001);
    is('refused', await (await fixture.request('s1', lock)).try());
    const stored = await fixture.stored(lock);
    expect(stored.sets.detached.map(({ id }) => id)).toEqual([carol.requestId]);
    expect(brokenInvariants(stored)).toEqual([]);
  });

  it('removes an offer and a kept place without a record, even if they are due after a stall', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s1', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    const now = Number(await fixture.now());
    for (const part of ['offers', 'detached'] as const) await fixture.addGhost(lock, part, now);
    await fixture.pass(lock, 5000);
    expect((await bob.touch()).waiters).toEqual([1]);
    for (const part of ['offers', 'detached'] as const) expect(await fixture.idsIn(lock, part)).toEqual([]);
  });

  it('lets each of two offers lapse in time', async () => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 2));
    const [alice, bob] = [await fixture.request('s1', semaphore), await fixture.request('s1', semaphore)];
    const [carol, dave] = [await fixture.request('s2', semaphore), await fixture.request('s2', semaphore)];
    for (const holder of [alice, bob]) is('granted', await holder.try());
    for (const waiter of [carol, dave]) is('waiting', await waiter.queue());
    is('released', await alice.release(alice.secret));
    await fixture.passInUse(semaphore, 1000);
    is('released', await bob.release(bob.secret));
    await fixture.passInUse(semaphore, 2001);
    await (await fixture.server('s1')).store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'offers')).toEqual([dave.requestId]);
    expect(await fixture.idsIn(semaphore, 'detached')).toEqual([carol.requestId]);
    await fixture.passInUse(semaphore, 1000);
    await (await fixture.server('s1')).store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'offers')).toEqual([]);
  });

  it('detaches the waiters at the head of the queue if their server dies right after a walk for another server', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 60_000 });
    const [bob, carol, dave] = [
      await fixture.request('s3', lock),
      await fixture.request('s2', lock),
      await fixture.request('s1', lock),
    ];
    is('granted', await alice.try());
    for (const waiter of [bob, carol, dave]) is('waiting', await waiter.queue());
    await fixture.passInUse(lock, 7000);
    await fixture.beat(lock, 's3');
    await fixture.passInUse(lock, 3001);
    await dave.touch();
    expect(await fixture.idsIn(lock, 'queue')).toEqual([bob.requestId, dave.requestId]);
    await fixture.passInUse(lock, 7000);
    await dave.touch();
    expect(await fixture.idsIn(lock, 'queue')).toEqual([dave.requestId]);
    expect(await fixture.idsIn(lock, 'live')).toEqual(['s1']);
  });
});
