import type { Service } from '../../../../src/leases/lease';
import { Recorder, type EventSink } from '../../../support/history-recorder';
import { seeded } from '../../../support/random';
import { HeartbeatGate } from '../../sessions/heartbeat-gate';
import { watchStalls } from '../stalls';
import { disturbHeartbeats } from './heartbeat-signals';
import { SessionUser } from './session-user';
import { Worker } from './worker';

/** A resource of the round, with the ways in which workers request the resource. */
export interface Resource {
  readonly service: Service;
  readonly name: string;
  /** The heaviest request for a semaphore. */
  readonly mostPermits: number;
  /** For locks: the percentage of shared requests. */
  readonly sharedPercent: number;
  /** The relative frequency of the resource. */
  readonly share: number;
  /** True if very many leases fit, so that large sessions use the resource. */
  readonly isWide: boolean;
}

/** The workers of one process. They use the resources in all kinds of sessions for a while. */
export interface TrafficTask {
  readonly call: 'traffic';
  /** The prefix of the names of all clients. */
  readonly client: string;
  readonly workerCount: number;
  /** The number of leases that each user of sessions wants at the same time. */
  readonly sessionSizes: readonly number[];
  readonly longWaitPercent: number;
  /** The servers. Each worker starts at one of the servers and moves to the next server after a failure. */
  readonly addresses: readonly string[];
  readonly resources: readonly Resource[];
  readonly seed: number;
  readonly forMs: number;
}

/** The names of the workers and of the users of sessions. */
export function trafficClientsOf(task: TrafficTask): string[] {
  return [...workersOf(task), ...sessionUsersOf(task)];
}

function workersOf({ client, workerCount }: TrafficTask): string[] {
  return Array.from({ length: workerCount }, (_, index) => `${client}.${index}`);
}

function sessionUsersOf({ client, sessionSizes }: TrafficTask): string[] {
  return sessionSizes.map((_, index) => `${client}.session${index}`);
}

/** Resolves when the time is over and every worker has finished its last session. */
export async function runTraffic(task: TrafficTask, sink: EventSink): Promise<void> {
  const until = performance.now() + task.forMs;
  let stallCount = 0;
  const recorder = new Recorder(task.client, sink);
  const clients = trafficClientsOf(task);
  const unwatch = watchStalls((from, to) => {
    stallCount += 1;
    const fault = `${task.client} stall ${stallCount}`;
    const what = 'the client process was not scheduled';
    recorder.record({ type: 'fault_started', fault, kind: 'client_stopped', what, clients }, from);
    recorder.record({ type: 'fault_ended', fault }, to);
  });
  const workers = workersOf(task).map(
    (name, index) => new Worker(name, index, task, new Recorder(name, sink)),
  );
  const gate = new HeartbeatGate();
  const sessionClients = sessionUsersOf(task);
  disturbHeartbeats({ gate, clients: sessionClients, recorder, random: seeded(task.seed + 7) });
  const users = sessionClients.map((client, index) => {
    const wanted = { leaseCount: task.sessionSizes[index] ?? 1, resources: task.resources };
    const own = { client, startAt: index, recorder: new Recorder(client, sink), gate };
    const random = seeded(task.seed * 1000 + 500 + index);
    return new SessionUser({ ...own, ...wanted, addresses: task.addresses, random });
  });
  try {
    await Promise.all([...workers, ...users].map((one) => one.run(until)));
  } finally {
    unwatch();
  }
}
