import { type MetricDefinition, MS } from '../../base/meters';
import type { MetricSources } from './sources';

const MICROSECONDS = 1e-6;

export const serverMetrics: readonly MetricDefinition<MetricSources>[] = [
  {
    name: 'holdfast_build_info',
    type: 'gauge',
    unit: '0 or 1',
    labels: { version: 'version of the server' },
    help: 'Always 1, with the version of the server.',
    rising: 'Never rises. Several versions at once: an upgrade is under way.',
    read: ({ version }) => [{ labels: { version }, value: 1 }],
  },
  {
    name: 'holdfast_ready',
    type: 'gauge',
    unit: '0 or 1',
    labels: {},
    help: 'Whether health is SERVING, as /readyz says.',
    rising: '1 is good. 0: /readyz has the reasons.',
    read: ({ isReady }) => [{ value: Number(isReady()) }],
  },
  {
    name: 'holdfast_quarantine_remaining_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: {},
    help: 'Time until a quarantine ends. 0: there is no quarantine.',
    rising: 'Redis may have lost leases, and nothing is granted until 0.',
    read: ({ store }) => [{ value: (store?.quarantine?.remainingMs ?? 0) * MS }],
  },
  {
    name: 'holdfast_quarantine_seconds_total',
    type: 'counter',
    unit: 'seconds',
    labels: { cause: '`forgotten`, `restarted`, `clock`' },
    help: 'Time that this server has spent in quarantine.',
    rising: 'Grants pause. `restarted` after each restart of a Redis that may lose writes.',
    read: ({ quarantine }) =>
      Object.entries(quarantine.spentMs()).map(([cause, ms]) => ({ labels: { cause }, value: ms * MS })),
  },
  {
    name: 'holdfast_certificate_end_timestamp_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: { certificate: '`server`, `client-authority`, `redis-authority`, `redis-client`' },
    help: 'End of each certificate in use, in seconds since 1970. A chain or a list of authorities has its earliest end.',
    rising:
      'A certificate was renewed. `server`: HOLDFAST_TLS_CERT, `client-authority`: HOLDFAST_TLS_CLIENT_CA, `redis-authority`: HOLDFAST_REDIS_TLS_CA, `redis-client`: HOLDFAST_REDIS_TLS_CERT.',
    read: ({ certificates }) =>
      [...certificates.all()].map(({ use, endsAtMs }) => ({
        labels: { certificate: use },
        value: endsAtMs * MS,
      })),
  },
  {
    name: 'holdfast_reload_failed',
    type: 'gauge',
    unit: '0 or 1',
    labels: { content: '`certificates`, `tokens`, `issuer-keys`, `policy`, `redis-password`' },
    help: 'Whether the last change of a file could not be loaded. `issuer-keys`: also a failed request to a URL.',
    rising:
      '1: the last good content stays in use, so removed tokens and rules still count. The log has the problem.',
    read: ({ access }) =>
      (access?.reloads() ?? []).map(({ content, hasFailed }) => ({
        labels: { content },
        value: Number(hasFailed),
      })),
  },
  {
    name: 'holdfast_redis_command_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: { node: 'address of the Redis, at most 256 and then `other`' },
    help: 'Time from the send of a command, or of an operation in a command with others, to its answer or failure.',
    rising: 'Redis, its disk or the network is slow. Renewals then land late.',
    read: ({ commands }) =>
      [...commands.all()].map(({ node, ms }) => ({ labels: { node }, distribution: ms })),
  },
  {
    name: 'holdfast_redis_shared_operations_total',
    type: 'counter',
    unit: 'count',
    labels: { node: 'as above' },
    help: 'Operations on locks and semaphores that were sent in a command with others.',
    rising: 'Normal under load. Such operations cost Redis less.',
    read: ({ commands }) =>
      [...commands.all()].map(({ node, sharedCount }) => ({ labels: { node }, value: sharedCount })),
  },
  {
    name: 'holdfast_redis_command_failures_total',
    type: 'counter',
    unit: 'count',
    labels: {
      node: 'as above',
      failure:
        '`refused`, `redirected`, `full`, `unknown-script`, `not-written`, `connection-lost`, `timed-out`, `stopped`, `defect`',
    },
    help: 'Commands that failed, and operations in commands with others. The server repeats most of them.',
    rising:
      '`connection-lost`, `timed-out`: Redis or the network. `not-written`: there is no connection to Redis. `full`: Redis has no memory. `redirected`: slots move. `unknown-script`: Redis has restarted.',
    read: ({ commands }) =>
      [...commands.all()].flatMap(({ node, failures }) =>
        Object.entries(failures).map(([failure, value]) => ({ labels: { node, failure }, value })),
      ),
  },
  {
    name: 'holdfast_event_loop_delay_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: {},
    help: 'How late timers run, measured ten times a second.',
    rising: 'The server has too little CPU, or the process was stopped. Renewals then land late.',
    read: ({ eventLoop }) => [{ distribution: eventLoop.delayMs }],
  },
  {
    name: 'holdfast_event_loop_stall_seconds_total',
    type: 'counter',
    unit: 'seconds',
    labels: {},
    help: 'Time in which the event loop stood still for a second or longer at a time.',
    rising:
      'Each stall costs the leases that were to be renewed in it and have ended. The causes are those of the delay above.',
    read: ({ eventLoop }) => [{ value: eventLoop.stalledMs * MS }],
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    unit: 'seconds',
    labels: {},
    help: 'CPU time of the process, all threads.',
    rising: 'More work. At 1 second per second the event loop is near its limit.',
    read: () => {
      const { user, system } = process.cpuUsage();
      return [{ value: (user + system) * MICROSECONDS }];
    },
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: {},
    help: 'Memory of the process.',
    rising: 'More streams, sessions or dictionaries.',
    read: () => [{ value: process.memoryUsage.rss() }],
  },
  {
    name: 'process_start_time_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: {},
    help: 'Start of the process, in seconds since 1970.',
    rising: 'The server has restarted.',
    read: () => [{ value: performance.timeOrigin * MS }],
  },
];
