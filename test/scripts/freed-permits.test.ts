import { brokenInvariants } from '../support/leases/lease-invariants';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { OFFERED_TTL_MS, type Requester } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

/** A script ends expired leases before its own step, so each script must offer the freed permits. */
describe('a script that finds an expired lease', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  /** Alice and an expired lease hold the two permits of a semaphore. Carol waits for one, and dave left his place. */
  async function scene(waiterTtlMs: number) {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const make = (ttlMs = 60_000) => fixture.request('s1', semaphore, { ttlMs });
    const [alice, ended, carol, dave] = [
      await make(),
      await make(5000),
      await make(waiterTtlMs),
      await make(),
    ];
    is('granted', await alice.try());
    is('granted', await ended.try());
    is('waiting', await carol.queue());
    is('waiting', await dave.queue());
    is('withdrawn', await dave.withdraw());
    await fixture.passInUse(semaphore, 5001);
    await fixture.beat(semaphore, 's1');
    const stranger = await make();
    const large = await fixture.request('s1', semaphore, { permits: 3 });
    return { semaphore, alice, ended, carol, dave, stranger, large };
  }
  type Scene = Awaited<ReturnType<typeof scene>>;

  const other = ({ alice, semaphore }: Scene): Promise<Requester> =>
    fixture.request('s1', semaphore, { requestId: alice.requestId });

  const scripts: Record<string, readonly [kind: string, act: (by: Scene) => Promise<{ kind: string }>]> = {
    'a new acquire that waits': ['waiting', ({ stranger }) => stranger.queue()],
    'a new acquire that does not wait': ['refused', ({ stranger }) => stranger.try()],
    'an acquire that never fits': ['never-fits', ({ large }) => large.try()],
    'a repeated acquire of a held lease': ['granted', ({ alice }) => alice.try()],
    'a claim that never fits': ['never-fits', ({ large }) => large.claim()],
    'a renewal': ['granted', ({ alice }) => alice.renew(alice.secret)],
    'a renewal of the expired lease': ['finished', ({ ended }) => ended.renew(ended.secret)],
    'a renewal with a wrong secret': ['gone', ({ alice }) => alice.renew('wrong')],
    'a renewal by a stream that does not speak for the lease': [
      'superseded',
      async (by) => (await other(by)).keepAlive(by.alice.secret),
    ],
    'a release of the expired lease': ['finished', ({ ended }) => ended.release(ended.secret)],
    'a release with a wrong secret': ['gone', ({ alice }) => alice.release('wrong')],
    'a release after `lost` by a stream that was not answered': [
      'superseded',
      async (by) => (await other(by)).releaseAfterLoss(by.alice.secret),
    ],
    'a withdrawal without a place': ['withdrawn', ({ stranger }) => stranger.withdraw()],
    'a withdrawal of a kept place': ['withdrawn', ({ dave }) => dave.giveBack()],
    'a touch without waiters': [
      'touched',
      async ({ semaphore }) => {
        await (await fixture.server('s1')).store.touch(semaphore, []);
        return { kind: 'touched' };
      },
    ],
    'an unchanged limit': ['set', ({ semaphore }) => fixture.setLimit(semaphore, 2)],
  };

  it.each(Object.keys(scripts))(
    'offers its permits to the next waiter if the waiter has a long ttl, and the script is %s',
    async (what) => {
      const by = await scene(OFFERED_TTL_MS);
      const [kind, act] = scripts[what] as (typeof scripts)[string];
      expect((await act(by)).kind).toBe(kind);
      expect(await fixture.idsIn(by.semaphore, 'offers')).toEqual([by.carol.requestId]);
      expect(brokenInvariants(await fixture.stored(by.semaphore))).toEqual([]);
    },
  );

  it.each(Object.keys(scripts))(
    'grants its permits to the next waiter of the same server, if the script is %s',
    async (what) => {
      const by = await scene(60_000);
      const server = await fixture.server('s1');
      server.grants = [];
      const [kind, act] = scripts[what] as (typeof scripts)[string];
      expect((await act(by)).kind).toBe(kind);
      const { requestId, attach, secret } = by.carol;
      const { numbers, sets } = await fixture.stored(by.semaphore);
      expect(server.grants).toMatchObject([
        {
          call: { requestId, attach },
          grant: {
            fencingToken: BigInt(numbers.token as string),
            remainingMs: 60_000,
            ttlMs: 60_000,
            secret,
            permits: 1,
          },
        },
      ]);
      expect(sets.ends.map(({ id }) => id)).toContain(requestId);
      expect(brokenInvariants(await fixture.stored(by.semaphore))).toEqual([]);
    },
  );
});
