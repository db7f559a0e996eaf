import fc from 'fast-check';
import type { Micros } from '../history';
import type { Job, Plan, Step } from './plan';

const MS: Micros = 1_000;
const SECOND: Micros = 1_000_000;

const LOCKS = ['lock-a', 'lock-b'];
const SEMAPHORE = 'semaphore';
const CLIENTS = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5'];
const SERVERS = 3;
const SPAN: Micros = 20 * SECOND;

const client = fc.constantFrom(...CLIENTS);

function micros(from: Micros, to: Micros): fc.Arbitrary<Micros> {
  return fc.integer({ min: from, max: to });
}

const job: fc.Arbitrary<Job> = fc
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
      jobs: fc.array(job, { minLength: 1, maxLength: 40 }),
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
