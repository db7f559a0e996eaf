import fc from 'fast-check';
import { expireOffsetMs } from '../../../src/leases/lease';
import type { AcquireRequest } from '../../../src/leases/lease-requests';
import type { RevokeTarget } from '../../../src/leases/lease-store';
import { FakeCall } from '../../support/fake-call';
import {
  believedLeases,
  EngineFixture,
  leaseOf,
  type Pending,
  stopBelieving,
} from '../../support/leases/engine-fixture';
import { type CommandOutcome, type ModelStore, ModelWorld } from '../../support/leases/model-store';
import { ManualClock } from '../../support/manual-clock';
import { assertWithinTime, HISTORIES } from '../../support/timed-property';

const HELLO = { service: 'lock', name: 'hello' } as const;
const id = (n: number) => `0190a0a0-0000-7000-8000-${String(n).padStart(12, '0')}`;

/** The engines of two servers use a model of the store and a manual clock. */
describe('two servers', () => {
  let clock: ManualClock;
  let world: ModelWorld;
  let s1: EngineFixture<ModelStore>;
  let s2: EngineFixture<ModelStore>;
  beforeEach(() => {
    clock = new ManualClock(1_000_000);
    world = new ModelWorld(clock);
    s1 = new EngineFixture(clock, world.store('s1'), {}, 's1');
    s2 = new EngineFixture(clock, world.store('s2'), {}, 's2');
  });

  async function release(
    on: EngineFixture<ModelStore>,
    holder: Pending<{ leaseId: string }>,
  ): Promise<boolean> {
    const releasing = on.permits.release(holder.call, 'lock', holder.value.leaseId);
    await clock.advance(0);
    return (await releasing).released;
  }

  it('grant a released lock to a waiter of the other server immediately', async () => {
    const alice = s1.acquire({ requestId: id(1) });
    await clock.advance(0);
    const bob = s2.acquire({ requestId: id(2) });
    await clock.advance(500);
    expect([alice.outcome, bob.outcome]).toEqual(['OK', 'waiting']);
    expect(await release(s1, alice)).toBe(true);
    await clock.advance(0);
    expect(bob.value.fencingToken).toBeGreaterThan(alice.value.fencingToken);
    expect(expireOffsetMs(bob.call.receivedAt, bob.value.end)).toBeCloseTo(30_500 * 0.9995, 3);
    s1.expectRest(true);
    s2.expectRest(true);
  });

  it('grant a released lock to a waiter of the other server within a second if every hint is lost', async () => {
    world.hints = false;
    const alice = s1.acquire({ requestId: id(1) });
    await clock.advance(0);
    const bob = s2.acquire({ requestId: id(2) });
    await clock.advance(500);
    await release(s1, alice);
    await clock.advance(1010);
    expect(bob.outcome).toBe('OK');
  });

  it('grant the next waiter within 30 ms of expiry', async () => {
    s1.acquire({ requestId: id(1), ttlMs: 4321 });
    await clock.advance(0);
    const bob = s2.acquire({ requestId: id(2) });
    await clock.advance(4320);
    expect(bob.outcome).toBe('waiting');
    await clock.advance(30);
    expect(bob.outcome).toBe('OK');
  });

  it('grant 100 waiters of both servers in the order of their arrival', async () => {
    const first = s1.acquire({ requestId: id(0) });
    await clock.advance(1);
    const waiters: Pending<{ leaseId: string; fencingToken: bigint }>[] = [];
    for (let n = 1; n <= 100; n += 1) {
      waiters.push((n % 3 === 0 ? s1 : s2).acquire({ requestId: id(n) }));
      await clock.advance(1);
    }
    await release(s1, first);
    for (const [index, waiter] of waiters.entries()) {
      await clock.advance(5);
      expect(waiters.map(({ outcome }) => outcome).filter((outcome) => outcome === 'OK')).toHaveLength(
        index + 1,
      );
      expect(waiter.outcome).toBe('OK');
      await release(s2, waiter);
    }
    await clock.advance(5);
    s1.expectRest(true);
    s2.expectRest(true);
  });

  it('let a newer stream take over a lease with the same token, and end the older stream with SUPERSEDED', async () => {
    const older = s1.hold();
    await clock.advance(0);
    const { lease } = older.sink.last('granted');
    const newer = s2.attach(lease.leaseId);
    await clock.advance(0);
    expect(newer.sink.last('granted').lease.fencingToken).toBe(lease.fencingToken);
    await clock.advance(0);
    expect(older.outcome).toBe('SUPERSEDED');
    await clock.advance(25_000);
    expect(newer.sink.kinds).toEqual(['granted', 'renewed', 'renewed']);
    expect(older.sink.kinds).toEqual(['granted']);
  });

  it('end the older stream with SUPERSEDED at its next renewal if the hint is lost', async () => {
    world.hints = false;
    const older = s1.hold();
    await clock.advance(0);
    s2.attach(older.sink.last('granted').lease.leaseId);
    await clock.advance(10_010);
    expect(older.outcome).toBe('SUPERSEDED');
  });

  it('keep the place of a waiter that continues on the other server after a drain', async () => {
    const alice = s1.acquire({ requestId: id(1) });
    await clock.advance(1);
    const bob = s1.hold({ requestId: id(2) });
    await clock.advance(1);
    const carol = s2.hold({ requestId: id(3) });
    await clock.advance(1);
    void s1.permits.drain();
    await clock.advance(0);
    expect(bob.outcome).toBe('DRAINING');
    const again = s2.hold({ requestId: id(2) });
    await clock.advance(1);
    expect(again.sink.last('queued').position).toBe(1);
    await release(s2, alice);
    await clock.advance(1);
    expect(again.sink.kinds).toEqual(['queued', 'granted']);
    expect(carol.sink.kinds).toEqual(['queued']);
    s1.expectRest(true);
  });

  it('end a stream with OK when its lease is released through the other server', async () => {
    const stream = s1.hold();
    await clock.advance(0);
    const { lease } = stream.sink.last('granted');
    await s2.permits.release(stream.call, 'lock', lease.leaseId);
    await clock.advance(0);
    expect(stream.sink.kinds).toEqual(['granted', 'released']);
    expect(stream.outcome).toBe('OK');
  });

  it('report leases as lost after the store has lost all data, and keep the places of waiters', async () => {
    const stream = s1.hold({ requestId: id(1) });
    await clock.advance(1);
    const waiters = [s2.acquire({ requestId: id(2) }), s2.acquire({ requestId: id(3) })];
    await clock.advance(1);
    world.forget();
    await clock.advance(10_020);
    expect(stream.sink.last('lost').cause).toBe('store-reset');
    expect(stream.outcome).toBe('LEASE_LOST');
    expect(waiters.map(({ outcome }) => outcome)).toEqual(['OK', 'waiting']);
  });

  it('grant a retry on the other server if the reply to the first attempt was lost', async () => {
    world.outcomeOf = (verb, server) => (verb === 'acquire' && server === 's1' ? 'reply-lost' : 'answered');
    const first = s1.acquire();
    const second = s2.acquire();
    await clock.advance(0);
    expect(first.outcome).toBe('OUTCOME_UNKNOWN');
    // The give-back of the first call does not end the lease of the second call.
    await clock.advance(2000);
    expect(second.outcome).toBe('OK');
    expect(world.model(HELLO).in('held')).toHaveLength(1);
    s1.expectRest(true);
  });

  it('have no waiter, no timer and no taken permit left after any history', async () => {
    const action = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant('acquire' as const), on: fc.nat(1), n: fc.nat(5) }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant('hold' as const), on: fc.nat(1), n: fc.nat(5) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const), n: fc.nat(20) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('release' as const), n: fc.nat(20) }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('revoke' as const), on: fc.nat(1), n: fc.nat(20) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 30, 700, 3500) }),
      },
    );
    const outcomes = fc.infiniteStream(
      fc.oneof(
        { weight: 8, arbitrary: fc.constant<CommandOutcome>('answered') },
        { weight: 1, arbitrary: fc.constant<CommandOutcome>('reply-lost') },
        { weight: 1, arbitrary: fc.constant<CommandOutcome>('not-arrived') },
      ),
    );
    // Undefined: in the order of the commands. Otherwise replies overtake each other.
    const replyTimes = fc.infiniteStream(fc.constantFrom(undefined, undefined, 0, 8, 40));
    const history = fc.array(action, { minLength: 1, maxLength: 25 });
    await assertWithinTime(
      fc.asyncProperty(
        fc.tuple(history, outcomes, fc.constantFrom(0, 4), fc.boolean(), replyTimes),
        async ([actions, outcome, latencyMs, hints, replyTime]) => {
          clock = new ManualClock(1_000_000);
          world = new ModelWorld(clock);
          Object.assign(world, { latencyMs, hints, outcomeOf: () => outcome.next().value });
          world.replyMsOf = () => replyTime.next().value;
          const engines = ['s1', 's2'].map(
            (server) => new EngineFixture(clock, world.store(server), {}, server),
          );
          const calls: Pending<unknown>[] = [];
          const request = (n: number): Partial<AcquireRequest> => ({
            requestId: id(n),
            ttlMs: 3000,
            waitTimeoutMs: 4000,
          });
          for (const drawn of actions) {
            const engine = engines['on' in drawn ? drawn.on : 0] as EngineFixture<ModelStore>;
            const call = calls[('n' in drawn ? drawn.n : 0) % Math.max(1, calls.length)];
            if (drawn.kind === 'acquire') calls.push(engine.acquire(request(drawn.n)));
            else if (drawn.kind === 'hold') calls.push(engine.hold(request(drawn.n)));
            else if (drawn.kind === 'cancel') call?.call.cancel();
            else if (drawn.kind === 'release') await releaseIfHeld(engine, call);
            else if (drawn.kind === 'revoke') revokeFirst(engine, drawn.n % 2 === 0);
            await clock.advance(drawn.kind === 'pass' ? drawn.ms : 0);
            expectExclusion(calls);
          }
          Object.assign(world, { outcomeOf: () => 'answered', replyMsOf: () => undefined, latencyMs: 0 });
          for (const { call } of calls) call.cancel();
          await clock.advance(20_000);
          for (const engine of engines) {
            await engine.store.touch(HELLO, []);
            engine.expectRest(true);
          }
          // All leases expire in the first step. The next two steps remove the waiters. Right after a stall no waiter
          // counts as dead.
          for (const ms of [100_000, 2500, 2500]) {
            await clock.advance(ms);
            await engines[0]?.store.touch(HELLO, []);
          }
          expect(world.model(HELLO).requests).toEqual([]);
        },
      ),
      { weight: HISTORIES },
    );
  });

  /** Revokes all holders, or the first waiter, without force. */
  function revokeFirst(on: EngineFixture<ModelStore>, isWaiter: boolean): void {
    const waiter = world.model(HELLO).queue()[0];
    const enqueueTimeUs = BigInt(waiter?.queuedAt ?? 0);
    const target: RevokeTarget = isWaiter
      ? { kind: 'waiter', position: 1, enqueueTimeUs }
      : { kind: 'all-holders' };
    const request = { name: HELLO.name, target, force: false };
    on.permits.revoke(new FakeCall(clock), 'lock', request).catch(() => undefined);
  }

  async function releaseIfHeld(
    on: EngineFixture<ModelStore>,
    pending: Pending<unknown> | undefined,
  ): Promise<void> {
    const lease = pending && leaseOf(pending);
    if (!lease) return;
    stopBelieving(pending);
    on.permits.release(pending.call, 'lock', lease.leaseId).catch(() => undefined);
  }

  /** Checks that clients do not believe in two grants at the same time. */
  function expectExclusion(calls: readonly Pending<unknown>[]): void {
    expect(believedLeases(calls, clock.now()).size).toBeLessThanOrEqual(1);
  }
});

describe('semaphores of two servers', () => {
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
      fc.asyncProperty(
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
      ),
      { weight: HISTORIES },
    );
  });
});
