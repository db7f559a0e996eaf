import { LeaseFixture } from '../support/leases/lease-fixture';
import { is } from '../support/reply-kinds';

/** This test is not in test/scripts, because the mutation run writes in each script. */
describe('while Redis refuses writes because its replica is gone, a watch', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterEach(() => setReplicas(0));
  afterAll(() => fixture.close());

  const setReplicas = (count: number) =>
    fixture.redis.command('CONFIG', 'SET', 'min-replicas-to-write', String(count));

  it('shows the state with the time until the earliest end, and the end of the lease', async () => {
    const { store } = await fixture.server('s1');
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock, { holderId: 'alice', ttlMs: 7000 })).try());
    await setReplicas(1);
    const { view, earliestEndMs } = await store.watch(lock);
    expect(view).toEqual(await store.inspect(lock));
    expect(view.holders).toMatchObject([{ holderId: 'alice' }]);
    expect(earliestEndMs).toBeCloseTo(7000, 2);
    expect((await fixture.stored(lock)).watchers).toEqual({});
    await setReplicas(0);
    await fixture.passInUse(lock, 7000);
    await setReplicas(1);
    expect((await store.watch(lock)).view.holderCount).toBe(0);
  });

  it('registers the server when Redis accepts writes again', async () => {
    const { store } = await fixture.server('s1');
    const lock = fixture.resource();
    await setReplicas(1);
    await store.watch(lock);
    await setReplicas(0);
    await store.watch(lock);
    expect(Object.keys((await fixture.stored(lock)).watchers)).toEqual(['s1']);
  });

  it('fails for a bucket with leases of another layout', async () => {
    const { store } = await fixture.server('s1');
    const lock = fixture.resource();
    const key = fixture.epochKey(lock);
    const epoch = (await fixture.redis.command('GET', key)) as string;
    await fixture.redis.command('SET', key, `L9:${'f'.repeat(40)} a 60000 0`);
    try {
      await setReplicas(1);
      await expect(store.watch(lock)).rejects.toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
    } finally {
      await setReplicas(0);
      await fixture.redis.command('SET', key, epoch);
    }
  });
});
