import type { Service } from '../../../../src/engine/leases/lease';
import { Recorder, type EventSink } from '../../../support/history-recorder';
import { watchStalls } from '../stalls';
import { Worker } from './worker';

/** A resource that many want, and how they ask for it. */
export interface Wanted {
  readonly service: Service;
  readonly name: string;
  /** Of a semaphore: the heaviest request. */
  readonly mostPermits: number;
  /** Of a lock: how many of a hundred ask for it shared. */
  readonly sharedPercent: number;
  /** How often it is chosen, beside the others. */
  readonly share: number;
}

/** Workers of one process that use several resources in all the ways there are, for a while. */
export interface TrafficTask {
  readonly call: 'traffic';
  /** The workers' names begin with it. */
  readonly client: string;
  readonly workerCount: number;
  readonly longWaitPercent: number;
  /** The servers; each worker begins at one, and goes on at the next where one fails it. */
  readonly addresses: readonly string[];
  readonly wanted: readonly Wanted[];
  readonly seed: number;
  readonly forMs: number;
}

export function workersOf({ client, workerCount }: TrafficTask): string[] {
  return Array.from({ length: workerCount }, (_, index) => `${client}.${index}`);
}

/** Resolves when the time is over and every worker has come to the end of what it was at. */
export async function runTraffic(task: TrafficTask, sink: EventSink): Promise<void> {
  const until = performance.now() + task.forMs;
  let stallCount = 0;
  const recorder = new Recorder(task.client, sink);
  const clients = workersOf(task);
  const unwatch = watchStalls((from, to) => {
    stallCount += 1;
    const fault = `${task.client} stall ${stallCount}`;
    const what = 'its process did not come to run';
    recorder.record({ type: 'fault_started', fault, kind: 'client_stopped', what, clients }, from);
    recorder.record({ type: 'fault_ended', fault }, to);
  });
  const workers = clients.map((name, index) => new Worker(name, index, task, new Recorder(name, sink)));
  await Promise.all(workers.map((worker) => worker.run(until)));
  unwatch();
}
