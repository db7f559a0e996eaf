import fc from 'fast-check';
import { believedLeases, EngineFixture, leaseOf, type Pending } from '../../support/leases/engine-fixture';
import { ManualClock } from '../../support/manual-clock';
import { ModelWorld, type CommandOutcome, type ModelStore } from '../../support/leases/model-store';
import { assertWithinTime } from '../../support/timed-property';

const HELLO = { service: 'lock', name: 'hello' } as const;
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
    const call = stream ? engine.hold({ ...request, requestId }) : engine.acquire({ ...request, requestId });
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

describe('with a ttl that is shorter than the replies of the store', () => {
  it('a request gets REQUEST_FINISHED only if it is repeated, and then each time, and no request gets two tokens', async () => {
    await assertWithinTime(
      fc.tuple(fc.array(action, { minLength: 3, maxLength: 30 }), outcomes, latencies),
      async ([actions, outcome, latency]) => {
        const history = new History(outcome, latency);
        for (const drawn of actions) await history.act(drawn);
        await history.pass(4000);
        await history.finish();
      },
      { runs: 200, timeLimitMs: 8000 },
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
