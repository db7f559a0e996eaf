/**
 * The program that client-process.ts starts, and that tests kill and stop. The program performs the task of its
 * argument and writes the history to a file. After a task of one call, the process stays alive until a test kills the
 * process.
 */
import type { Service } from '../../src/leases/lease';
import { FileSink, Recorder } from '../support/history-recorder';
import { clientsOf, runLoad, type LoadTask } from './load';
import { RecordedClient } from './recorded-client';
import { runTraffic, trafficClientsOf, type TrafficTask } from './suite/traffic/traffic';

export interface OneCallTask {
  readonly call: 'acquire' | 'hold';
  /** The client's name in the history. */
  readonly client: string;
  readonly address: string;
  readonly service?: Service;
  readonly name: string;
  readonly ttlMs: number;
  readonly permits?: number;
}

export type ClientTask = OneCallTask | LoadTask | TrafficTask;

/** The names of a task's clients in the history. */
export function clientsIn(task: ClientTask): string[] {
  if (task.call === 'load') return clientsOf(task);
  return task.call === 'traffic' ? trafficClientsOf(task) : [task.client];
}

async function run(task: ClientTask, historyFile: string): Promise<void> {
  const sink = new FileSink(historyFile);
  if (task.call === 'load') return runLoad(task, sink);
  if (task.call === 'traffic') return runTraffic(task, sink);
  const { client: label, address, service, call, ...asking } = task;
  const client = new RecordedClient(label, address, new Recorder(label, sink), service);
  setInterval(() => undefined, 60_000);
  if (call === 'hold') client.hold(asking);
  else await client.acquire(asking);
}

if (require.main === module) {
  const [task = '', historyFile = ''] = process.argv.slice(2);
  run(JSON.parse(task) as ClientTask, historyFile).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
}
