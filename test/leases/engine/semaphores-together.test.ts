import fc from 'fast-check';
import type { AcquireRequest } from '../../../src/leases/lease-requests';
import {
  believedLeases,
  EngineFixture,
  leaseOf,
  type Pending,
  stopBelieving,
} from '../../support/leases/engine-fixture';
import { ManualClock } from '../../support/manual-clock';
import { ModelWorld, type CommandOutcome, type ModelStore } from '../../support/leases/model-store';
import { assertWithinTime } from '../../support/timed-property';

const POOL = { service: 'semaphore', name: 'pool' } as const;
const MAX_LIMIT = 4;

const anAction = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('ask' as const), on: fc.nat(1), n: fc.nat(8) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('hold' as const), on: fc.nat(1), n: fc.nat(8) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const), n: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('release' as const), n: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('limit' as const), limit: fc.nat(MAX_LIMIT) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 30, 700, 3500) }),
  },
);
type Action = typeof anAction extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const outcomes = fc.infiniteStream(
  fc.oneof(
    { weight: 8, arbitrary: fc.constant<CommandOutcome>('answered') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('reply-lost') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('not-arrived') },
  ),
);

/** Clients of two servers use a semaphore with a changing limit. The store is a model, and the clock is manual. */
class Scenario {
  readonly clock = new ManualClock(1_000_000);
  readonly world = new ModelWorld(this.clock);
  private readonly engines = ['s1', 's2'].map(
    (server) => new EngineFixture(this.clock, this.world.store(server), {}, server),
  );
  private readonly calls: Pending<unknown>[] = [];
  /** The limit in force. All grants under an earlier limit have been reported. */
  private limit = MAX_LIMIT;
  /** The tokens of leases of a deleted semaphore. Their permits are free, but their holders may still believe in them. */
  private readonly forced = new Set<bigint>();
  private seen = new Set<bigint>();
  /** All grants under this limit have greater tokens. 1 ms is added, because tokens within a moment count up. */
  private limitSince = 0n;

  /** @param isLossy whether commands and replies may get lost */
  constructor(private readonly isLossy: boolean) {}

  async take(action: Action): Promise<void> {
    const before = this.limit;
    switch (action.kind) {
      case 'ask':
        this.calls.push(this.engine(action.on).acquire(request(action.n), {}, 'semaphore'));
        break;
      case 'hold':
        this.calls.push(this.engine(action.on).hold(request(action.n), {}, 'semaphore'));
        break;
      case 'cancel':
        this.call(action.n)?.call.cancel();
        break;
      case 'release':
        this.release(this.call(action.n));
        break;
      case 'limit':
        await this.setLimit(action.limit);
        break;
      case 'delete':
        await this.repeat((engine) => engine.permits.remove(POOL.name, { force: true }));
        for (const token of this.believed().keys()) this.forced.add(token);
        await this.setLimit(MAX_LIMIT);
        break;
      case 'pass':
        await this.clock.advance(action.ms);
    }
    await this.clock.advance(0);
    this.expectNoOverIssue(Math.max(before, this.limit));
  }

  async setLimit(limit: number): Promise<void> {
    await this.repeat((engine) => engine.permits.setLimit(POOL.name, { limit, expectedLimit: undefined }));
    // The wait lets the replies to earlier claims arrive.
    await this.clock.advance(this.world.latencyMs);
    this.limit = limit;
    this.limitSince = BigInt(this.world.nowUs + 1000);
  }

  /** Ends all calls, and checks that servers and store keep nothing and that all permits are free. */
  async expectRest(): Promise<void> {
    const { clock, world, calls, engines } = this;
    Object.assign(world, { outcomeOf: () => 'answered', latencyMs: 0 });
    for (const { call } of calls) call.cancel();
    await this.setLimit(MAX_LIMIT);
    await clock.advance(20_000);
    for (const engine of engines) {
      await engine.store.touch(POOL, []);
      engine.expectRest(true);
    }
    // All leases expire in the first step. The next two steps remove the waiters. Right after a stall no waiter counts as dead.
    for (const ms of [100_000, 2500, 2500]) {
      await clock.advance(ms);
      await this.engine(0).store.touch(POOL, []);
    }
    expect(world.model(POOL).requests).toEqual([]);
    const all = this.engine(1).acquire({ ...request(100), permitCount: MAX_LIMIT }, {}, 'semaphore');
    await clock.advance(0);
    expect(all.outcome).toBe('OK');
  }

  /** Repeats a call until the call succeeds, as an operator does. */
  private async repeat(change: (engine: EngineFixture<ModelStore>) => Promise<unknown>): Promise<void> {
    for (let tries = 0, done = false; !done; tries += 1) {
      change(this.engine(tries % 2)).then(
        () => (done = true),
        () => undefined,
      );
      await this.clock.advance(this.world.latencyMs);
    }
  }

  private release(pending: Pending<unknown> | undefined): void {
    const lease = pending && leaseOf(pending);
    if (!lease) return;
    stopBelieving(pending);
    this.engine(0)
      .permits.release(pending.call, 'semaphore', lease.leaseId)
      .catch(() => undefined);
  }

  /**
   * Checks that no new grant makes the believed permits exceed the limit. If replies get lost, a grant under the earlier
   * limit may be reported late. Such a grant has a token below `limitSince`.
   */
  private expectNoOverIssue(limit: number): void {
    const believed = this.believed();
    for (const token of this.forced) believed.delete(token);
    const isNew = [...believed.keys()].some(
      (token) => !this.seen.has(token) && (!this.isLossy || token > this.limitSince),
    );
    this.seen = new Set([...this.seen, ...believed.keys()]);
    const sum = [...believed.values()].reduce((total, { permitCount }) => total + permitCount, 0);
    if (isNew) expect(sum).toBeLessThanOrEqual(limit);
  }

  private believed() {
    return believedLeases(this.calls, this.clock.now());
  }

  private call(n: number): Pending<unknown> | undefined {
    return this.calls[n % Math.max(1, this.calls.length)];
  }

  private engine(index: number): EngineFixture<ModelStore> {
    return this.engines[index] as EngineFixture<ModelStore>;
  }
}

function request(n: number): Partial<AcquireRequest> {
  const requestId = `0190a0a0-0000-7000-8000-${String(n).padStart(12, '0')}`;
  return { name: POOL.name, requestId, permitCount: 1 + (n % 3), ttlMs: 3000, waitTimeoutMs: 4000 };
}

it('two servers neither over-issue nor leak permits while the limit changes, the semaphore is deleted and replies get lost', async () => {
  await assertWithinTime(
    fc.tuple(
      fc.array(anAction, { minLength: 1, maxLength: 25 }),
      outcomes,
      fc.constantFrom(0, 4),
      fc.boolean(),
      fc.boolean(),
    ),
    async ([actions, outcome, latencyMs, hints, isLossy]) => {
      const scenario = new Scenario(isLossy);
      await scenario.setLimit(MAX_LIMIT);
      Object.assign(scenario.world, { latencyMs, hints });
      if (isLossy) Object.assign(scenario.world, { outcomeOf: () => outcome.next().value });
      for (const action of actions) await scenario.take(action);
      await scenario.expectRest();
    },
    { runs: 600, timeLimitMs: 8000 },
  );
});
