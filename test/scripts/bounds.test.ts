import { LeaseFixture } from '../support/leases/lease-fixture';
import { OFFERED_TTL_MS, type Requester } from '../support/leases/lease-requester';
import { grantsWaitingReaders } from '../support/waiting-readers';
import { is } from '../support/reply-kinds';

const BATCH = 64;

/** A script handles at most one batch, so that Redis is never blocked for long. `more` asks for the next batch. */
describe('a script', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    // Thousands of commands are in flight at the same time.
    fixture = await LeaseFixture.open({ commandTimeoutMs: 20_000, frozenClock: true });
  });
  afterAll(() => fixture.close());

  /** Makes requests of server s1 for one permit each of a semaphore with a limit of 300, one after the other. */
  async function requests(count: number, act: (one: Requester) => Promise<unknown>, ttlMs = 5000) {
    const semaphore = fixture.resource('semaphore');
    const all: Requester[] = [];
    for (let i = 0; i < count; i += 1)
      all.push(await fixture.request('s1', semaphore, { initialLimit: 300, ttlMs }));
    for (const one of all) await act(one);
    return { semaphore, all };
  }

  it('purges 64 expired leases at a time, and answers `more` until no expired lease is left', async () => {
    const { semaphore } = await requests(150, (one) => one.try());
    await fixture.passInUse(semaphore, 5001);
    const left = await fixture.finishBatches(
      semaphore,
      async () => (await fixture.idsIn(semaphore, 'ends')).length,
    );
    expect(left).toEqual([150 - BATCH, 150 - 2 * BATCH, 0]);
    expect((await fixture.stored(semaphore)).numbers.used).toBe('0');
  });

  it('makes 64 offers at a time in the order of the queue, and a new request overtakes no waiter', async () => {
    const semaphore = fixture.resource('semaphore');
    const holder = await fixture.request('s1', semaphore, { initialLimit: 300, permits: 300 });
    is('granted', await holder.try());
    const waiters: Requester[] = [];
    for (let i = 0; i < 150; i += 1) {
      const waiter = await fixture.request('s1', semaphore, { ttlMs: OFFERED_TTL_MS });
      is('waiting', await waiter.queue());
      waiters.push(waiter);
    }
    const server = await fixture.server('s1');
    const before = server.mores;
    server.rechecks = [];
    await holder.release(holder.secret);
    expect(server.mores).toBe(before + 1);
    expect(server.rechecks).toEqual(waiters.slice(0, BATCH).map(({ requestId }) => requestId));
    const newcomer = await fixture.request('s1', semaphore);
    // The script of the new request makes the next batch of offers. The new request takes the last place.
    expect(is('waiting', await newcomer.queue()).position).toBe(150 - 2 * BATCH + 1);
    await server.store.touch(semaphore, []);
    const tokens: bigint[] = [];
    for (const waiter of [...waiters, newcomer])
      tokens.push(is('granted', await waiter.claim()).fencingToken);
    expect([...tokens].sort((a, b) => Number(a - b))).toEqual(tokens);
  });

  it('makes at most 64 direct grants, even if it removes a dead server afterwards and looks at the queue again', async () => {
    const semaphore = fixture.resource('semaphore');
    const holder = await fixture.request('s1', semaphore, { initialLimit: 300, permits: 300, ttlMs: 5000 });
    is('granted', await holder.try());
    for (const waiter of await fixture.requests(120, 's1', semaphore)) is('waiting', await waiter.queue());
    await fixture.beat(semaphore, 'dead');
    await fixture.passInUse(semaphore, 10_001);
    const server = await fixture.server('s1');
    server.grants = [];
    await server.store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'live')).not.toContain('dead');
    expect(server.grants).toHaveLength(BATCH);
    await server.store.touch(semaphore, []);
    expect(server.grants).toHaveLength(120);
  });

  it('lets a request that does not wait have the permits after it has detached 64 waiters of a dead server', async () => {
    const lock = fixture.resource();
    const holder = await fixture.request('s1', lock, { ttlMs: 20_000 });
    is('granted', await holder.try());
    for (const waiter of await fixture.requests(BATCH, 's2', lock)) is('waiting', await waiter.queue());
    await fixture.passInUse(lock, 20_001);
    is('granted', await (await fixture.request('s1', lock)).try());
  });

  it('makes at most 256 offers of a name at a time, so that servers can claim all of them in time', async () => {
    const semaphore = fixture.resource('semaphore');
    const holder = await fixture.request('s1', semaphore, { initialLimit: 300, permits: 300 });
    is('granted', await holder.try());
    const waiters = await fixture.requests(300, 's1', semaphore, { ttlMs: OFFERED_TTL_MS });
    for (const waiter of waiters) is('waiting', await waiter.queue());
    await holder.release(holder.secret);
    const offerCount = async () => (await fixture.idsIn(semaphore, 'offers')).length;
    expect((await fixture.finishBatches(semaphore, offerCount)).at(-1)).toBe(256);
    is('granted', await (waiters[0] as Requester).claim());
    expect((await fixture.finishBatches(semaphore, offerCount)).at(-1)).toBe(256);
    expect((await fixture.stored(semaphore)).numbers.used).toBe('257');
  });

  it.each([
    ['renewal', (one: Requester) => one.renew(one.secret)],
    ['release', (one: Requester) => one.release(one.secret)],
    ['acquire', (one: Requester) => one.queue()],
    ['claim', (one: Requester) => one.claim()],
    ['withdrawal', (one: Requester) => one.withdraw()],
  ])(
    'answers `finished` to a %s of an expired lease, even if 100 other leases expired before',
    async (_, act) => {
      const { semaphore, all } = await requests(100, (one) => one.try());
      const last = await fixture.request('s1', semaphore, { ttlMs: 5001 });
      await last.try();
      await fixture.passInUse(semaphore, 5002);
      expect(await act(last)).toMatchObject({ kind: 'finished', cause: 'expired' });
      expect((await fixture.stored(semaphore)).sets.ends).toHaveLength(all.length - BATCH);
    },
  );

  it('hides expired leases that are not purged yet from inspections, acquires and limit changes', async () => {
    const { semaphore } = await requests(200, (one) => one.try());
    const { store } = await fixture.server('s2');
    await fixture.passInUse(semaphore, 5001);
    expect(await store.inspect(semaphore)).toMatchObject({ usedCount: 0, holderCount: 0, holders: [] });
    const other = await requests(200, (one) => one.try());
    await fixture.passInUse(other.semaphore, 5001);
    is('granted', await (await fixture.request('s2', other.semaphore, { permits: 300 })).try());
    const third = await requests(200, (one) => one.try());
    await fixture.passInUse(third.semaphore, 5001);
    const { view } = is('set', await store.setLimit(third.semaphore, { limit: 9, expectedLimit: 300 }));
    expect(view).toMatchObject({ usedCount: 0, holderCount: 0 });
  });

  it('grants a lock to 1,000 waiting readers in batches of 64', () => grantsWaitingReaders(fixture, 1_000));
});
