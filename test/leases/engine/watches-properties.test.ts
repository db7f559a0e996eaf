import fc from 'fast-check';
import type { Lease, ResourceView } from '../../../src/leases/lease';
import type { ListRequest, ResourcePage } from '../../../src/leases/lease-requests';
import { showSame } from '../../../src/leases/watch-state';
import { acquireRequest, FakeCall, type RecordedViews } from '../../support/fake-call';
import { believedLeases, EngineFixture, leaseOf, type Pending } from '../../support/leases/engine-fixture';
import { type CommandOutcome, type ModelStore, ModelWorld } from '../../support/leases/model-store';
import { ManualClock, settled } from '../../support/manual-clock';
import { assertWithinTime, HISTORIES } from '../../support/timed-property';

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
      fc.asyncProperty(
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
            const twice = sink.views.filter(
              (view, at) => at > 0 && showSame(sink.views[at - 1] ?? view, view),
            );
            expect(twice).toEqual([]);
          }
          for (const { call } of watches) call.cancel();
          await clock.advance(5000);
          for (const engine of engines) engine.expectRest(true);
        },
      ),
      { weight: HISTORIES },
    );
  }, 60_000);
});

const TTL_MS = 100;
const OWN_IDS = 2;
const ownId = (n: number) => `0190a0a0-0000-7000-8000-${String(9_000_000 + n).padStart(12, '0')}`;

/** One call of a random history, and the request_id that its caller sent. */
interface Made {
  readonly call: Pending<unknown>;
  readonly requestId: string | undefined;
}

const servers = fc.nat(1);
const waitTimeoutMs = fc.constantFrom(0, 250, 1000, 3000);
const action = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('acquire' as const), on: servers, waitTimeoutMs }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('acquire own id' as const, 'hold own id' as const),
      on: servers,
      waitTimeoutMs,
      n: fc.nat(OWN_IDS - 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), n: fc.nat(20) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 40, 120, 120, 400, 1500),
    }),
  },
);
type Action = typeof action extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const outcomes = fc.infiniteStream(
  fc.oneof(
    { weight: 10, arbitrary: fc.constant<CommandOutcome>('answered') },
    { weight: 2, arbitrary: fc.constant<CommandOutcome>('sent-twice') },
    { weight: 3, arbitrary: fc.constant<CommandOutcome>('copy-runs-late') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('reply-lost') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('runs-late') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('not-arrived') },
  ),
);
const latencies = fc.infiniteStream(fc.constantFrom(0, 4, 60, 60, 220));

describe('with a ttl that is shorter than the replies of the store', () => {
  const HELLO = { service: 'lock', name: 'hello' } as const;
  /** Two servers, a ttl of 100 ms, replies that take up to 220 ms, and commands that are lost, late or sent twice. */
  class History {
    readonly clock = new ManualClock(1_000_000);
    readonly world = new ModelWorld(this.clock);
    readonly engines: readonly EngineFixture<ModelStore>[];
    readonly made: Made[] = [];
    /** The tokens that callers got, by request id. */
    readonly tokens = new Map<string, Set<bigint>>();
    /** The request ids for which a caller got REQUEST_FINISHED. */
    private readonly finished = new Set<string>();

    constructor(outcome: IterableIterator<CommandOutcome>, latency: IterableIterator<number>) {
      this.world.outcomeOf = () => outcome.next().value as CommandOutcome;
      this.world.latencyOf = () => latency.next().value as number;
      this.engines = ['s1', 's2'].map((id) => new EngineFixture(this.clock, this.world.store(id), {}, id));
    }

    async act(drawn: Action): Promise<void> {
      if (drawn.kind === 'cancel') this.made[drawn.n % Math.max(1, this.made.length)]?.call.call.cancel();
      else if (drawn.kind !== 'pass') this.start(drawn);
      await this.pass(drawn.kind === 'pass' ? drawn.ms : 0);
    }

    private start(drawn: Exclude<Action, { kind: 'cancel' | 'pass' }>): void {
      const engine = this.engines[drawn.on] as EngineFixture<ModelStore>;
      const request = { ttlMs: TTL_MS, waitTimeoutMs: drawn.waitTimeoutMs };
      if (drawn.kind === 'acquire') {
        this.made.push({ call: engine.acquire({ ...request, requestId: undefined }), requestId: undefined });
        return;
      }
      const requestId = ownId(drawn.n);
      const stream = drawn.kind === 'hold own id';
      const call = stream
        ? engine.hold({ ...request, requestId })
        : engine.acquire({ ...request, requestId });
      this.made.push({ call, requestId });
    }

    /** Advances the clock in small steps, and checks after each step. */
    async pass(ms: number): Promise<void> {
      for (let left = ms; left >= 0; left -= 20) {
        await this.clock.advance(Math.min(left, 20));
        this.check();
      }
    }

    private check(): void {
      const calls = this.made.map(({ call }) => call);
      expect(believedLeases(calls, this.clock.now()).size).toBeLessThanOrEqual(1);
      for (const { call, requestId } of this.made) {
        if (requestId === undefined) expect(call.outcome).not.toBe('REQUEST_FINISHED');
        const lease = leaseOf(call);
        if (!lease) continue;
        const tokens = this.tokens.get(lease.requestId) ?? new Set();
        if (this.finished.has(lease.requestId)) expect(tokens).toContain(lease.fencingToken);
        this.tokens.set(lease.requestId, tokens.add(lease.fencingToken));
        expect(tokens.size).toBe(1);
      }
      for (const { call, requestId } of this.made) {
        if (call.outcome === 'REQUEST_FINISHED') this.finished.add(requestId ?? '');
      }
    }

    /** Ends all calls. Expects that the engines are at rest, and that the store forgets all requests. */
    async finish(): Promise<void> {
      this.world.outcomeOf = () => 'answered';
      this.world.latencyOf = () => 0;
      for (const { call } of this.made) call.call.cancel();
      await this.clock.advance(20_000);
      for (const engine of this.engines) {
        await engine.store.touch(HELLO, []);
        await this.clock.advance(0); // A direct grant to a place that was left goes back.
        engine.expectRest(true);
      }
      // All leases and tombstones end in the first step. The next steps remove the places that were left: no waiter counts
      // as dead right after a stall, and a detached place is kept for 10 s.
      for (const ms of [100_000, ...Array<number>(8).fill(2500)]) {
        await this.clock.advance(ms);
        await this.engines[0]?.store.touch(HELLO, []);
      }
      expect(this.world.model(HELLO).requests).toEqual([]);
    }
  }

  it('a request gets REQUEST_FINISHED only if it is repeated, and then each time, and no request gets two tokens', async () => {
    await assertWithinTime(
      fc.asyncProperty(
        fc.tuple(fc.array(action, { minLength: 3, maxLength: 30 }), outcomes, latencies),
        async ([actions, outcome, latency]) => {
          const history = new History(outcome, latency);
          for (const drawn of actions) await history.act(drawn);
          await history.pass(4000);
          await history.finish();
        },
      ),
      { weight: HISTORIES },
    );
  });

  it('each of many calls ends after its wait_timeout, and waiters are granted when replies are fast', async () => {
    const clock = new ManualClock(1_000_000);
    const world = new ModelWorld(clock);
    const s1 = new EngineFixture(clock, world.store('s1'));
    world.latencyMs = 500;
    const request = { requestId: undefined, ttlMs: TTL_MS };
    const tries = Array.from({ length: 20 }, () => s1.acquire({ ...request, waitTimeoutMs: 0 }));
    const short = Array.from({ length: 20 }, () => s1.acquire({ ...request, waitTimeoutMs: 400 }));
    const first = s1.acquire({ ...request, waitTimeoutMs: 15_000 });
    const second = s1.acquire({ ...request, waitTimeoutMs: 15_000 });
    await clock.advance(4000);
    const ended = tries.map(({ outcome }) => outcome);
    expect(new Set(ended)).toEqual(new Set(['STORE_UNAVAILABLE', 'CONTENDED']));
    expect(new Set(short.map(({ outcome }) => outcome))).toEqual(new Set(['CONTENDED']));
    expect([first.outcome, second.outcome]).toEqual(['waiting', 'waiting']);
    world.latencyMs = 0;
    await clock.advance(5000);
    expect([first.outcome, second.outcome]).toEqual(['OK', 'OK']);
    s1.expectRest();
  });
});

const namesOf = ({ resources }: ResourcePage) => resources.map(({ name }) => name);

function list(on: EngineFixture<ModelStore>, values: Partial<ListRequest>): Promise<ResourcePage> {
  const all = { namePrefix: '', holderId: '', identity: '' };
  const request = { ...all, pageSize: 50, pageToken: '', order: 'fixed' as const };
  return on.permits.list(new FakeCall(on.clock), 'lock', { ...request, ...values });
}

/** The locks are free, held, or held with waiters. */
describe('the pages of a list over a model of the store', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 4, unit: 'grapheme' }),
    fc.constantFrom('a', 'aa', 'ab', 'b'),
  );
  const names = fc.dictionary(name, fc.nat(4), { minKeys: 0, maxKeys: 30, noNullPrototype: true });

  async function allPages(on: EngineFixture<ModelStore>, values: Partial<ListRequest>): Promise<string[]> {
    const found: string[] = [];
    let pageToken = '';
    do {
      const page = await list(on, { ...values, pageToken });
      found.push(...namesOf(page));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return found;
  }

  it('have each name in use once, and in the order of waiter counts the names with the most waiters first', async () => {
    await assertWithinTime(
      fc.asyncProperty(
        names,
        fc.integer({ min: 1, max: 7 }),
        fc.constantFrom('', 'a'),
        async (users, pageSize, namePrefix) => {
          const clock = new ManualClock(1_000_000);
          const world = new ModelWorld(clock);
          const on = new EngineFixture(clock, world.store('s1'));
          for (const [lock, count] of Object.entries(users)) {
            for (let i = 0; i < count; i += 1) {
              const call = new FakeCall(clock);
              void on.permits
                .acquire(call, 'lock', acquireRequest({ name: lock, requestId: on.identities.requestId() }))
                .catch(() => undefined);
            }
          }
          await settled();
          const wanted = Object.entries(users).filter(
            ([lock, count]) => count > 0 && lock.startsWith(namePrefix),
          );
          const found = await allPages(on, { namePrefix, pageSize });
          expect([...found].sort()).toEqual(wanted.map(([lock]) => lock).sort());
          const top = await list(on, { namePrefix, pageSize, order: 'waiter-count' });
          const counts = top.resources.map(({ waiterCount }) => waiterCount);
          const expected = wanted.map(([, count]) => count - 1).sort((a, b) => b - a);
          expect(counts).toEqual(expected.slice(0, pageSize));
        },
      ),
    );
  });
});
