import { status } from '@grpc/grpc-js';
import type { MethodMeter } from '../../rpc/entry/call-meters';
import type { Labels, MetricDefinition, NumberSample } from '../../base/meters';
import type { MetricSources } from './sources';

const METHOD_LABELS: Labels = {
  grpc_type: '`unary`, `client_stream`, `server_stream`, `bidi_stream`',
  grpc_service: 'full name of the service',
  grpc_method: 'name of the method',
};

function labelsOf({ type, service, method }: MethodMeter): Labels {
  return { grpc_type: type, grpc_service: service, grpc_method: method };
}

function metersOf({ calls }: MetricSources): readonly MethodMeter[] {
  return calls === undefined ? [] : [...calls.all()];
}

const countsOf = (count: (meter: MethodMeter) => number) => (sources: MetricSources) =>
  metersOf(sources).map((meter) => ({ labels: labelsOf(meter), value: count(meter) }));

/** A status that never occurred has no sample, except OK. */
function handledOf(meter: MethodMeter): NumberSample[] {
  return meter.handled.flatMap((value, code) =>
    value === 0 && code !== status.OK
      ? []
      : { labels: { ...labelsOf(meter), grpc_code: String(status[code]) }, value },
  );
}

export const callMetrics: readonly MetricDefinition<MetricSources>[] = [
  {
    name: 'grpc_server_started_total',
    type: 'counter',
    unit: 'count',
    labels: METHOD_LABELS,
    help: 'Calls that have arrived.',
    rising: 'Callers do more work, or repeat failed calls.',
    read: countsOf((meter) => meter.startedCount),
  },
  {
    name: 'grpc_server_handled_total',
    type: 'counter',
    unit: 'count',
    labels: { ...METHOD_LABELS, grpc_code: 'name of the status, such as `OK` or `UNAVAILABLE`' },
    help: 'Calls that have ended, by status. A session is one call: its failed commands are in holdfast_session_failures_total. A SuggestStream is one call: its failed queries are in holdfast_query_failures_total.',
    rising:
      'With `UNAVAILABLE`: the store does not answer, or the server drains. With `RESOURCE_EXHAUSTED`: overload or quotas; `holdfast top --callers` shows whose calls are refused. With `PERMISSION_DENIED` or `UNAUTHENTICATED`: refused callers, named by the audit log.',
    read: (sources) => metersOf(sources).flatMap(handledOf),
  },
  {
    name: 'holdfast_connections_cut_total',
    type: 'counter',
    unit: 'count',
    labels: { cause: '`unread-answers`, `idle-frames`, `no-first-frame`' },
    help: 'Connections that the server has cut, because their clients cost too much: [limits](limits.md#connections).',
    rising: 'A client floods this server. The lines `cut a connection` of the log have its address.',
    read: ({ calls }) =>
      Object.entries(calls?.cutConnections ?? {}).map(([cause, value]) => ({ labels: { cause }, value })),
  },
  {
    name: 'grpc_server_msg_received_total',
    type: 'counter',
    unit: 'count',
    labels: METHOD_LABELS,
    help: 'Messages received from clients.',
    rising: 'More commands in sessions and streams.',
    read: countsOf((meter) => meter.receivedCount),
  },
  {
    name: 'grpc_server_msg_sent_total',
    type: 'counter',
    unit: 'count',
    labels: METHOD_LABELS,
    help: 'Messages sent to clients.',
    rising: 'More answers and events.',
    read: countsOf((meter) => meter.sentCount),
  },
  {
    name: 'grpc_server_handling_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: METHOD_LABELS,
    help: 'Time from the arrival of a unary call to its status, waits for a lease included. Streams and sessions do not count.',
    rising:
      'For calls without a wait: Redis or the server is slow. For AcquireLock and AcquirePermits: long queues.',
    read: (sources) =>
      metersOf(sources).flatMap((meter) =>
        meter.ms === undefined ? [] : { labels: labelsOf(meter), distribution: meter.ms },
      ),
  },
];
