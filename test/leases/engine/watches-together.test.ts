import fc from 'fast-check';
import type { Lease, ResourceView } from '../../../src/leases/lease';
import { showSame } from '../../../src/leases/watch-state';
import { EngineFixture, type Pending } from '../../support/leases/engine-fixture';
import type { RecordedViews } from '../../support/fake-call';
import { ManualClock } from '../../support/manual-clock';
import { ModelWorld, type CommandOutcome, type ModelStore } from '../../support/leases/model-store';
import { assertWithinTime } from '../../support/timed-property';

const HELLO = { service: 'semaphore', name: 'hello' } as const;
const id = (n: number) => `0190a0a0-0000-7000-8000-${String(n).padStart(12, '0')}`;

type Watch = Pending<void, RecordedViews>;

/** The engines of two servers use a model of the store and a manual clock. */
describe('watches of two servers', () => {
  let clock: ManualClock;
  let world: ModelWorld;
  let s1: EngineFixture<ModelStore>;
  let s2: EngineFixture<ModelStore>;

  function start(): void {
    clock = new ManualClock(1_000_000);
    world = new ModelWorld(clock);
    [s1, s2] = ['s1', 's2'].map((server) => new EngineFixture(clock, world.store(server), {}, server)) as [
      EngineFixture<ModelStore>,
      EngineFixture<ModelStore>,
    ];
  }
  beforeEach(start);

  const holders = ({ sink }: Watch) => sink.views.map((view) => view.holders.map(({ holderId }) => holderId));

  it('see a leader, its end and the next leader by hints, on both servers', async () => {
    const watches: Watch[] = [s1.watch(), s2.watch()];
    await clock.advance(0);
    const lead = (on: EngineFixture<ModelStore>, n: number, holderId: string) =>
      on.acquire({ requestId: id(n), holderId, metadata: { address: `${holderId}:1` }, ttlMs: 3000 });
    const alice = lead(s1, 1, 'alice');
    await clock.advance(100);
    lead(s2, 2, 'bob');
    await clock.advance(100);
    await s1.permits.release(alice.call, 'lock', (alice.result as Lease).leaseId);
    await clock.advance(100);
    for (const watch of watches) {
      expect(watch.sink.last).toMatchObject({
        holders: [{ holderId: 'bob', metadata: { address: 'bob:1' } }],
        waiterCount: 0,
      });
      expect(holders(watch)).toContainEqual(['alice']);
    }
    await clock.advance(3000);
    for (const watch of watches) expect(watch.sink.last.holderCount).toBe(0);
  });

  it('see a change within a second if every hint is lost, and see an expiry immediately', async () => {
    world.hints = false;
    const watch = s2.watch();
    await clock.advance(10);
    s1.acquire({ requestId: id(1), ttlMs: 2500 });
    await clock.advance(1020);
    expect(watch.sink.last.holderCount).toBe(1);
    const end = watch.sink.last.holders[0]?.expireTimeMs ?? NaN;
    await clock.advance(end - world.nowUs / 1000 + 70);
    expect(watch.sink.last.holderCount).toBe(0);
    watch.call.cancel();
  });

  const on = fc.nat(1);
  const n = fc.nat(5);
  const action = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('acquire' as const),
        on,
        n,
        permits: fc.integer({ min: 1, max: 4 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('release' as const), on, n }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), on, n }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('limit' as const), on, limit: fc.nat(6) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), on }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('watch' as const), on }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('unwatch' as const), n }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.constantFrom(1, 20, 300, 1500, 4000),
      }),
    },
  );
  const outcome = fc.oneof(
    { weight: 8, arbitrary: fc.constant<CommandOutcome>('answered') },
    { weight: 1, arbitrary: fc.constantFrom<CommandOutcome>('reply-lost', 'not-arrived', 'sent-twice') },
  );

  /** At rest, each open watch shows the state that a read shows, apart from the ends of leases. */
  function expectRest(watches: readonly Watch[], view: ResourceView): void {
    for (const watch of watches) {
      if (watch.over) continue;
      expect(
        showSame(watch.sink.last, {
          ...view,
          holders: view.holders.map((one) => ({ ...one, mode: undefined })),
          waiters: view.waiters.map((one) => ({ ...one, mode: undefined })),
        }),
      ).toBe(true);
    }
  }

  it('show the state of the store at rest, and no state twice in a row, after random calls, failures and lost hints', async () => {
    await assertWithinTime(
      fc.tuple(
        fc.array(action, { maxLength: 40, size: 'max' }),
        fc.infiniteStream(outcome),
        fc.constantFrom(0, 4),
        fc.boolean(),
      ),
      async ([actions, outcomes, latencyMs, hints]) => {
        start();
        Object.assign(world, { latencyMs, hints, outcomeOf: () => outcomes.next().value });
        const engines = [s1, s2];
        const calls: Pending<Lease>[] = [];
        const watches: Watch[] = [];
        for (const drawn of actions) {
          const engine = engines['on' in drawn ? drawn.on : 0] as EngineFixture<ModelStore>;
          const call = calls[('n' in drawn ? drawn.n : 0) % Math.max(1, calls.length)];
          switch (drawn.kind) {
            case 'acquire':
              calls.push(
                engine.acquire(
                  { requestId: id(calls.length), permitCount: drawn.permits, initialLimit: 4, ttlMs: 3000 },
                  {},
                  'semaphore',
                ),
              );
              break;
            case 'release':
              if (call?.result) {
                engine.permits.release(call.call, 'semaphore', call.result.leaseId).catch(() => undefined);
              }
              break;
            case 'cancel':
              call?.call.cancel();
              break;
            case 'limit': {
              const setting = { limit: drawn.limit, expectedLimit: undefined };
              engine.permits.setLimit('hello', setting).catch(() => undefined);
              break;
            }
            case 'delete':
              engine.permits.remove('hello', { force: true }).catch(() => undefined);
              break;
            case 'watch':
              watches.push(engine.watch('hello', 'semaphore'));
              break;
            case 'unwatch':
              watches[drawn.n % Math.max(1, watches.length)]?.call.cancel();
              break;
            case 'pass':
          }
          await clock.advance(drawn.kind === 'pass' ? drawn.ms : 0);
        }
        Object.assign(world, { outcomeOf: () => 'answered', latencyMs: 0 });
        for (const { call } of calls) call.cancel();
        await clock.advance(30_000);
        expectRest(watches, world.view(HELLO));
        for (const { sink } of watches) {
          const twice = sink.views.filter((view, at) => at > 0 && showSame(sink.views[at - 1] ?? view, view));
          expect(twice).toEqual([]);
        }
        for (const { call } of watches) call.cancel();
        await clock.advance(5000);
        for (const engine of engines) engine.expectRest(true);
      },
      { runs: 200, timeLimitMs: 8000 },
    );
  }, 60_000);
});
