import type { Service } from '../../../../src/engine/leases/lease';
import { Recorder, type EventSink } from '../../../support/history-recorder';
import { watchStalls } from '../stalls';
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
}

/** The workers of one process. They use the resources in all kinds of sessions for a while. */
export interface TrafficTask {
  readonly call: 'traffic';
  /** The prefix of the workers' names. */
  readonly client: string;
  readonly workerCount: number;
  readonly longWaitPercent: number;
  /** The servers. Each worker starts at one of the servers and moves to the next server after a failure. */
  readonly addresses: readonly string[];
  readonly resources: readonly Resource[];
  readonly seed: number;
  readonly forMs: number;
}

export function workersOf({ client, workerCount }: TrafficTask): string[] {
  return Array.from({ length: workerCount }, (_, index) => `${client}.${index}`);
}

/** Resolves when the time is over and every worker has finished its last session. */
export async function runTraffic(task: TrafficTask, sink: EventSink): Promise<void> {
  const until = performance.now() + task.forMs;
  let stallCount = 0;
  const recorder = new Recorder(task.client, sink);
  const clients = workersOf(task);
  const unwatch = watchStalls((from, to) => {
    stallCount += 1;
    const fault = `${task.client} stall ${stallCount}`;
    const what = 'the client process was not scheduled';
    recorder.record({ type: 'fault_started', fault, kind: 'client_stopped', what, clients }, from);
    recorder.record({ type: 'fault_ended', fault }, to);
  });
  const workers = clients.map((name, index) => new Worker(name, index, task, new Recorder(name, sink)));
  await Promise.all(workers.map((worker) => worker.run(until)));
  unwatch();
}
