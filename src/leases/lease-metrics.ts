import type { Distribution, Labels, MetricDefinition } from '../base/meters';
import type { Service } from './lease';
import type { LeaseMeters, ServiceMeters } from './lease-meters';

/** What the metrics of locks, semaphores and sessions are read from. */
export interface LeaseSource {
  readonly leases: { readonly meters: LeaseMeters; waiterCountOf(service: Service): number };
  readonly sessions: { readonly size: number };
  /** The failed commands of sessions by reason, which the status of the session's stream does not show. */
  readonly failures: { all(): Iterable<readonly [string, number]> };
}

const SERVICES = ['lock', 'semaphore'] as const;
const SERVICE_LABEL: Labels = { service: '`lock`, `semaphore`' };

const countsOf = (count: (meters: ServiceMeters) => number) =>
  function* ({ leases }: LeaseSource) {
    for (const service of SERVICES) {
      yield { labels: { service }, value: count(leases.meters[service]) };
    }
  };

const timesOf = (time: (meters: ServiceMeters) => Distribution) =>
  function* ({ leases }: LeaseSource) {
    for (const service of SERVICES) {
      yield { labels: { service }, distribution: time(leases.meters[service]) };
    }
  };

function* waitersOf({ leases }: LeaseSource) {
  for (const service of SERVICES as readonly Service[]) {
    yield { labels: { service }, value: leases.waiterCountOf(service) };
  }
}

function* lossesOf({ leases }: LeaseSource) {
  for (const service of SERVICES) {
    for (const [cause, value] of Object.entries(leases.meters[service].lost)) {
      yield { labels: { service, cause }, value };
    }
  }
}

export const leaseMetrics: readonly MetricDefinition<LeaseSource>[] = [
  {
    name: 'holdfast_leases_held',
    type: 'gauge',
    unit: 'count',
    labels: SERVICE_LABEL,
    help: 'Leases that streams and sessions of this server hold and renew.',
    rising: 'More holders. Leases of unary calls are unknown to a server and do not count.',
    read: countsOf((meters) => meters.heldCount),
  },
  {
    name: 'holdfast_waiters',
    type: 'gauge',
    unit: 'count',
    labels: SERVICE_LABEL,
    help: 'Calls and commands that wait in a queue on this server.',
    rising: 'Work waits for leases: holders are slow, or there are too few permits.',
    read: waitersOf,
  },
  {
    name: 'holdfast_grant_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: SERVICE_LABEL,
    help: 'Time from the arrival of a request to its grant.',
    rising: 'Longer queues, or a slow Redis if the lowest buckets lose.',
    read: timesOf((meters) => meters.grantMs),
  },
  {
    name: 'holdfast_hold_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: SERVICE_LABEL,
    help: 'Time for which a stream or a session of this server held a lease, until its release or loss.',
    rising: 'Critical sections take longer, so waiters wait longer.',
    read: timesOf((meters) => meters.holdMs),
  },
  {
    name: 'holdfast_renewal_slack_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: SERVICE_LABEL,
    help: 'Time that a lease of a stream or a session had left when its renewal was answered.',
    rising:
      'The lowest buckets must not rise: leases are then nearly lost, because Redis or this server is slow.',
    read: timesOf((meters) => meters.slackMs),
  },
  {
    name: 'holdfast_renewal_failures_total',
    type: 'counter',
    unit: 'count',
    labels: SERVICE_LABEL,
    help: 'Renewals that failed or were overdue, and were reported to the holder.',
    rising: 'Redis does not answer in time. Leases are lost if this goes on for a ttl.',
    read: countsOf((meters) => meters.failedRenewalCount),
  },
  {
    name: 'holdfast_leases_lost_total',
    type: 'counter',
    unit: 'count',
    labels: {
      ...SERVICE_LABEL,
      cause: '`expired`, `client-silent`, `revoked`, `store-reset`, `store-unavailable`',
    },
    help: 'Leases that streams and sessions of this server have lost.',
    rising:
      '`store-unavailable`: Redis did not answer for a ttl. `store-reset`: Redis has lost data. `expired`: the server stood still, or Redis did not answer a release. `client-silent`: the client of a session gave no heartbeats, and the lease ended before the session, which waits 15 s for them. `revoked`: operators or the policy.',
    read: lossesOf,
  },
  {
    name: 'holdfast_revocations_total',
    type: 'counter',
    unit: 'count',
    labels: SERVICE_LABEL,
    help: 'Leases and waits that callers of this server have revoked.',
    rising: 'Operators take leases away. The audit log says who and why.',
    read: countsOf((meters) => meters.revokedCount),
  },
  {
    name: 'holdfast_hand_overs_total',
    type: 'counter',
    unit: 'count',
    labels: SERVICE_LABEL,
    help: 'Grants to requests that had waited in a queue.',
    rising: 'More contention that ends well.',
    read: countsOf((meters) => meters.handOverCount),
  },
  {
    name: 'holdfast_contended_total',
    type: 'counter',
    unit: 'count',
    labels: SERVICE_LABEL,
    help: 'Requests that ended with CONTENDED.',
    rising: 'Callers give up: tries of a held lock, or waits that are too short for the queue.',
    read: countsOf((meters) => meters.contendedCount),
  },
  {
    name: 'holdfast_sessions',
    type: 'gauge',
    unit: 'count',
    labels: {},
    help: 'Open sessions.',
    rising: 'More client processes. A server accepts 10,000.',
    read: ({ sessions }) => [{ value: sessions.size }],
  },
  {
    name: 'holdfast_session_failures_total',
    type: 'counter',
    unit: 'count',
    labels: { reason: 'name of the reason, such as `OVERLOADED`: [errors.md](../errors.md) has all reasons' },
    help: 'Commands of sessions that have failed, by reason. All client packages acquire by such commands.',
    rising:
      'With `OVERLOADED`, `QUOTA_EXCEEDED`, `QUEUE_FULL` or `STORE_FULL`: overload, quotas or full queues. With `STORE_UNAVAILABLE`: Redis does not answer. With `NOT_ALLOWED`: refused callers, named by the audit log. `CONTENDED` counts acquires that give up.',
    *read({ failures }) {
      for (const [reason, value] of failures.all()) yield { labels: { reason }, value };
    },
  },
];
