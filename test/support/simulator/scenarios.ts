import fc from 'fast-check';
import type { Invariant } from '../checkers/violation';
import type { Micros } from '../history';
import type { Job, Mutation, Plan, Step } from './loop';

const SECOND: Micros = 1_000_000;

/** A plan in which a mutation causes violations, and the checkers that must report them. */
export interface Scenario {
  readonly plan: Plan;
  readonly caughtBy: readonly Invariant[];
}

const LOCK = 'lock';
const SEMAPHORE = 'semaphore';

/** An exclusive unary acquire that waits without a limit. Times in seconds. */
function job(client: string, at: number, ttl: number, work: number, more: Partial<Job> = {}): Job {
  return {
    client,
    name: LOCK,
    rpc: 'acquire',
    mode: 'exclusive',
    permits: 1,
    ttlUs: ttl * SECOND,
    waitTimeoutUs: null,
    startUs: at * SECOND,
    workUs: work * SECOND,
    renewEveryUs: null,
    end: 'release',
    cancelAfterUs: null,
    ...more,
  };
}

function hold(client: string, at: number, ttl: number, work: number, more: Partial<Job> = {}): Job {
  return job(client, at, ttl, work, { rpc: 'hold', ...more });
}

const SHARED: Partial<Job> = { mode: 'shared' };

/** Takes `count` permits of the semaphore for 2 s, with a ttl of 5 s. */
function permits(client: string, at: number, count: number, more: Partial<Job> = {}): Job {
  return job(client, at, 5, 2, { name: SEMAPHORE, permits: count, ...more });
}

function scenario(
  caughtBy: readonly Invariant[],
  jobs: readonly Job[],
  steps: readonly Step[] = [],
  more: Partial<Plan> = {},
): Scenario {
  return { caughtBy, plan: { seed: 1, servers: 2, limits: {}, jobs, steps, untilUs: 30 * SECOND, ...more } };
}

function observe(at: number, name = LOCK): Step {
  return { at: at * SECOND, do: 'observe', name };
}

/** Clients are connected to the servers in turn: c0 to server 1, c1 to server 0, c2 to server 1. */
export const SCENARIOS: Readonly<Record<Mutation, Scenario>> = {
  // c0 releases after its lease has ended. By then c1 holds the lock, and c2 waits for it.
  no_owner_compare: scenario(
    ['exclusion', 'resurrection'],
    [job('c0', 0, 1, 2.5, { ignoresDeadline: true }), job('c1', 0.1, 10, 5), hold('c2', 0.2, 5, 1)],
  ),
  // The reply to c0 is lost, so its retry waits behind its own first request. c1 sends one request twice.
  resend_without_idempotence: scenario(
    ['lost_wake_up', 'idempotence'],
    [
      hold('c0', 0, 20, 1),
      job('c1', 4, 5, 3, { name: SEMAPHORE, repeatAfterUs: SECOND / 100, renewEveryUs: SECOND }),
    ],
    [{ at: 0, do: 'drop_replies', count: 1 }],
    { limits: { [SEMAPHORE]: 2 } },
  ),
  // The pub/sub message about the offer is lost.
  pubsub_only_wake_up: scenario(
    ['lost_wake_up'],
    [job('c0', 0, 5, 1), hold('c1', 0.1, 5, 1)],
    [{ at: 0.9 * SECOND, do: 'drop_messages', count: 2 }],
  ),
  // c1 dies while it waits ahead of c2.
  no_liveness_check: scenario(
    ['lost_wake_up', 'dead_grant'],
    [job('c0', 0, 5, 1.5), hold('c1', 0.1, 5, 1), hold('c2', 0.6, 5, 1)],
    [{ at: 0.5 * SECOND, do: 'kill_client', client: 'c1' }],
  ),
  // c0 renews after its lease has ended. By then c1 holds the lock.
  renew_resurrects: scenario(
    ['exclusion', 'resurrection'],
    [job('c0', 0, 1, 4, { ignoresDeadline: true, renewEveryUs: 1.5 * SECOND }), job('c1', 0.1, 10, 6)],
  ),
  // The store loses its data between two grants.
  counter_only_token: scenario(
    ['fencing'],
    [job('c0', 0, 2, 0.5), job('c1', 0.6, 2, 0.5), job('c2', 3, 2, 0.5)],
    [{ at: 2 * SECOND, do: 'flush_store' }],
  ),
  // c1 waits so long for its grant that most of its offset has passed. Then c1 abandons the lease.
  deadline_from_receipt: scenario(
    ['exclusion', 'truthful_offset'],
    [job('c0', 0, 5, 3), job('c1', 0.1, 2, 20, { end: 'abandon' }), job('c2', 0.2, 2, 1)],
    [observe(4)],
  ),
  // The message about the offer to c1 is lost, and c1 cancels before the next touch of its server.
  permit_leaked_on_cancel: scenario(
    ['leak', 'dead_grant'],
    [
      job('c0', 0, 5, 1.3, { name: SEMAPHORE }),
      hold('c1', 0.1, 5, 1, { name: SEMAPHORE, cancelAfterUs: 1.5 * SECOND }),
      hold('c2', 0.4, 5, 1, { name: SEMAPHORE }),
    ],
    [{ at: 1.2 * SECOND, do: 'drop_messages', count: 2 }],
    { limits: { [SEMAPHORE]: 1 } },
  ),
  lifo: scenario(['fifo'], [job('c0', 0, 5, 1), hold('c1', 0.1, 5, 1), hold('c2', 0.2, 5, 1)]),
  // The store loses the lease of a live stream.
  swallowed_lost: scenario(['loss'], [hold('c0', 0, 6, 20)], [{ at: 1.2 * SECOND, do: 'flush_store' }]),
  // c0 repeats its request while it holds the lock.
  double_grant_on_reconnect: scenario(['idempotence'], [hold('c0', 0, 5, 3, { repeatAfterUs: SECOND })]),
  lowered_limit_ignored: scenario(
    ['over_issue'],
    [job('c0', 1, 5, 2, { name: SEMAPHORE }), job('c1', 1.2, 5, 2, { name: SEMAPHORE })],
    [{ at: 0.5 * SECOND, do: 'set_limit', name: SEMAPHORE, limit: 1 }],
    { limits: { [SEMAPHORE]: 2 } },
  ),
  // The message about the offer to c2 is late, so c2 claims the offer after the limit is lowered.
  offer_kept_when_lowered: scenario(
    ['over_issue'],
    [
      permits('c0', 0, 2, { workUs: 4 * SECOND }),
      permits('c1', 0.1, 2, { workUs: 1.2 * SECOND }),
      permits('c2', 0.4, 2, { rpc: 'hold' }),
    ],
    [
      { at: SECOND, do: 'delay_messages', byUs: SECOND },
      { at: 1.36 * SECOND, do: 'set_limit', name: SEMAPHORE, limit: 2 },
    ],
    { limits: { [SEMAPHORE]: 4 } },
  ),
  weights_not_counted: scenario(['over_issue'], [permits('c0', 0, 2), permits('c1', 0.1, 2)], [], {
    limits: { [SEMAPHORE]: 3 },
  }),
  // c1 releases one permit. c2 is first in the queue and needs three permits.
  small_overtakes_head: scenario(
    ['fifo'],
    [
      permits('c0', 0, 2, { workUs: 3 * SECOND }),
      permits('c1', 0.1, 1, { workUs: SECOND }),
      permits('c2', 0.3, 3, { rpc: 'hold' }),
      permits('c3', 0.6, 1, { rpc: 'hold' }),
    ],
    [],
    { limits: { [SEMAPHORE]: 3 } },
  ),
  reader_beside_writer: scenario(['exclusion'], [job('c0', 0, 5, 2), job('c1', 0.1, 5, 1, SHARED)]),
  writer_beside_readers: scenario(
    ['exclusion'],
    [job('c0', 0, 5, 2, SHARED), job('c1', 0.1, 5, 2, SHARED), job('c2', 0.2, 5, 1)],
  ),
  // c0 renews with a shorter ttl than that of its lease.
  renewal_shortens: scenario(
    ['exclusion', 'truthful_offset'],
    [job('c0', 0, 8, 7, { renewEveryUs: SECOND, renewTtlUs: 0.6 * SECOND }), job('c1', 0.1, 5, 1)],
    [observe(1.3)],
  ),
  // c0's stream breaks, and c0 attaches at another server. The first server notices later.
  stale_stream_releases: scenario(
    ['exclusion', 'false_loss'],
    [hold('c0', 0, 5, 8), hold('c1', 0.1, 5, 1)],
    [{ at: SECOND, do: 'cut_client', client: 'c0', noticedAfterUs: 0.6 * SECOND }],
  ),
  // c0 abandons its lease, so the store grants c1 when the lease ends in the store.
  late_from_buffer: scenario(
    ['exclusion', 'truthful_offset'],
    [job('c0', 0, 2, 20, { end: 'abandon' }), job('c1', 0.1, 0.4, 0.1)],
    [observe(1.5)],
  ),
  dead_from_buffer: scenario(['dead_grant'], [job('c0', 0, 1, 0.5)]),
  // c0's lease ends while the store is stalled. c2 requests the lock while the touches for c1 are in the socket.
  newcomer_passes_after_stall: scenario(
    ['fifo'],
    [job('c0', 0, 2, 20, { end: 'abandon' }), hold('c1', 0.5, 5, 1), hold('c2', 7.9, 5, 1)],
    [{ at: SECOND, do: 'stall_store', forUs: 7 * SECOND }],
    // With this seed the store reads the socket of c2's server first.
    { seed: 3 },
  ),
  // The message about the grant to c1 is late, and c1 abandons its lease.
  offset_from_pubsub: scenario(
    ['exclusion', 'truthful_offset'],
    [job('c0', 0, 5, 3.15), job('c1', 0.1, 2, 20, { end: 'abandon' }), job('c2', 0.2, 2, 0.1)],
    [{ at: 0, do: 'delay_messages', byUs: 0.8 * SECOND }, observe(4.5)],
  ),
  // The reply to one renewal is lost.
  failed_renewal_is_loss: scenario(
    ['false_loss'],
    [hold('c0', 0, 6, 8)],
    [{ at: 1.5 * SECOND, do: 'drop_replies', count: 1 }],
  ),
  slow_expiry: scenario(
    ['recovery', 'lost_wake_up'],
    [hold('c0', 0, 1, 5), hold('c1', 0.2, 5, 1)],
    [{ at: 0.5 * SECOND, do: 'kill_client', client: 'c0' }],
  ),
  stream_kept: scenario(['leak'], [hold('c0', 0, 2, 1)]),
  // c0 repeats its request after its release.
  finished_grants_again: scenario(['idempotence'], [job('c0', 0, 2, 0.5, { repeatAfterUs: SECOND })]),
};

const MS: Micros = 1_000;

const LOCKS = ['lock-a', 'lock-b'];
const CLIENTS = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5'];
const SERVERS = 3;
const SPAN: Micros = 20 * SECOND;

const client = fc.constantFrom(...CLIENTS);

function micros(from: Micros, to: Micros): fc.Arbitrary<Micros> {
  return fc.integer({ min: from, max: to });
}

const randomJob: fc.Arbitrary<Job> = fc
  .record({
    client,
    name: fc.constantFrom(...LOCKS, SEMAPHORE),
    rpc: fc.constantFrom('acquire' as const, 'hold' as const),
    mode: fc.constantFrom('exclusive' as const, 'exclusive' as const, 'shared' as const),
    permits: fc.integer({ min: 1, max: 3 }),
    ttlUs: micros(600 * MS, 5 * SECOND),
    waitTimeoutUs: fc.oneof(fc.constant(null), fc.constant(0), micros(100 * MS, 8 * SECOND)),
    startUs: micros(0, SPAN),
    workUs: micros(10 * MS, 4 * SECOND),
    renewEveryUs: fc.oneof(fc.constant(null), micros(150 * MS, SECOND)),
    renewTtlUs: fc.option(micros(600 * MS, 6 * SECOND), { nil: undefined }),
    end: fc.constantFrom('release' as const, 'release' as const, 'abandon' as const),
    cancelAfterUs: fc.option(micros(10 * MS, 6 * SECOND), { nil: null, freq: 4 }),
    ignoresDeadline: fc.boolean(),
    repeatAfterUs: fc.option(micros(MS, 6 * SECOND), { nil: undefined, freq: 8 }),
  })
  .map(({ renewTtlUs, repeatAfterUs, ...rest }) => ({
    ...rest,
    ...(renewTtlUs === undefined ? {} : { renewTtlUs }),
    ...(repeatAfterUs === undefined ? {} : { repeatAfterUs }),
  }));

function step<Rest extends object>(rest: fc.Arbitrary<Rest>): fc.Arbitrary<Rest & { at: Micros }> {
  return fc.tuple(micros(0, SPAN), rest).map(([at, action]) => ({ at, ...action }));
}

const harmlessStep: fc.Arbitrary<Step> = fc.oneof(
  step(fc.record({ do: fc.constant('observe' as const), name: fc.constantFrom(...LOCKS, SEMAPHORE) })),
  step(
    fc.record({
      do: fc.constant('set_limit' as const),
      name: fc.constant(SEMAPHORE),
      limit: fc.integer({ min: 0, max: 6 }),
    }),
  ),
  step(fc.record({ do: fc.constant('drop_messages' as const), count: fc.integer({ min: 1, max: 3 }) })),
);

const faultStep: fc.Arbitrary<Step> = fc.oneof(
  step(fc.record({ do: fc.constant('kill_client' as const), client })),
  step(fc.record({ do: fc.constant('cut_client' as const), client, noticedAfterUs: micros(MS, 2 * SECOND) })),
  step(fc.record({ do: fc.constant('stop_client' as const), client, forUs: micros(100 * MS, 8 * SECOND) })),
  step(fc.record({ do: fc.constant('kill_server' as const), server: fc.nat({ max: SERVERS - 1 }) })),
  step(
    fc.record({
      do: fc.constant('stop_server' as const),
      server: fc.nat({ max: SERVERS - 1 }),
      forUs: micros(100 * MS, 8 * SECOND),
    }),
  ),
  step(fc.record({ do: fc.constant('stall_store' as const), forUs: micros(100 * MS, 8 * SECOND) })),
  step(fc.record({ do: fc.constant('drop_replies' as const), count: fc.integer({ min: 1, max: 3 }) })),
  step(fc.constant({ do: 'flush_store' as const })),
);

function plans(steps: fc.Arbitrary<Step[]>): fc.Arbitrary<Plan> {
  return fc
    .record({
      seed: fc.nat(),
      limit: fc.integer({ min: 3, max: 5 }),
      jobs: fc.array(randomJob, { minLength: 1, maxLength: 40 }),
      steps,
    })
    .map(({ seed, limit, jobs, steps }) => ({
      seed,
      servers: SERVERS,
      limits: { [SEMAPHORE]: limit },
      jobs,
      steps,
      untilUs: SPAN + 5 * SECOND,
    }));
}

/** Clients contend, wait, renew, abandon and repeat requests. There are no faults except lost messages. */
export const plansWithoutFaults = plans(fc.array(harmlessStep, { maxLength: 12 }));

/** Clients contend as without faults, while processes die or stop, links break, and the store stalls or loses data. */
export const plansWithFaults = plans(
  fc
    .tuple(fc.array(harmlessStep, { maxLength: 12 }), fc.array(faultStep, { minLength: 1, maxLength: 4 }))
    .map(([harmless, faults]) => [...harmless, ...faults]),
);
