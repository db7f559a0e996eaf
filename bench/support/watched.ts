import { setTimeout as sleep } from 'node:timers/promises';
import { BenchClient } from '../load/bench-client';
import type { BystanderTasks } from '../load/bystanders';
import { LoadProcess } from './load-process';
import { MemorySampler } from './memory-sampler';
import { monotonicMs } from './monotonic';
import type { Stage } from './stage';
import { warmUpServer } from './warm-up';

export const STREAMS = 100;
export const STREAM_CONNECTIONS = 10;
export const STREAM_TTL_MS = 5000;
export const INNOCENT_PER_SECOND = 50;

/** The first calls of the other clients are not measured. */
const SETTLING_MS = 1000;

/** A server with clients that hold leases, and with a client of modest demands. */
export interface Watched extends Stage {
  readonly bench: BenchClient;
  readonly others: LoadProcess<BystanderTasks>;
  readonly memory: MemorySampler;
}

/** Starts the other clients, and everything that is measured beside them. */
export async function watch<T>({ server, redis }: Stage, work: (watched: Watched) => Promise<T>): Promise<T> {
  const { listen: address } = server;
  await warmUpServer(address);
  const bench = new BenchClient(address);
  const others = new LoadProcess<BystanderTasks>('bystanders');
  const memory = new MemorySampler(server.pid);
  const [streams, connections, ttlMs] = [STREAMS, STREAM_CONNECTIONS, STREAM_TTL_MS];
  try {
    await others.ask('start', {
      bystanders: { address, label: 'bystander', streams, connections, ttlMs },
      innocent: { address, label: 'innocent', perSecond: INNOCENT_PER_SECOND },
    });
    await sleep(SETTLING_MS);
    return await work({ server, redis, bench, others, memory });
  } finally {
    memory.stop();
    others.end();
    bench.close();
  }
}

/** The time of some work on the machine's monotonic clock. */
export interface Phase {
  readonly from: number;
  readonly to: number;
}

export async function phaseOf(work: () => Promise<unknown>): Promise<Phase> {
  const from = monotonicMs();
  await work();
  return { from, to: monotonicMs() };
}
