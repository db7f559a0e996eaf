import { setTimeout as sleep } from 'node:timers/promises';
import type { BystanderCounts } from '../../test/support/attacks/bystanders';
import { bearer } from '../../test/support/clients/calls';
import { BenchClient } from '../load/bench-client';
import type { BystanderTasks } from '../load/bystanders';
import { LoadProcess } from './load-process';
import { MemorySampler } from './memory-sampler';
import { monotonicMs } from './monotonic';
import { warmUp, type Stage } from './stage';
import { sum } from './statistics';

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

/**
 * Starts the other clients, and everything that is measured beside them.
 * @param token the bearer token of the other clients
 */
export async function watch<T>(
  stage: Stage,
  work: (watched: Watched) => Promise<T>,
  token?: string,
): Promise<T> {
  const { listen: address, pid } = stage.server;
  await warmUp(stage, token);
  const bench = new BenchClient(address, bearer(token));
  const others = new LoadProcess<BystanderTasks>('bystanders');
  const memory = new MemorySampler(pid);
  const [streams, connections, ttlMs] = [STREAMS, STREAM_CONNECTIONS, STREAM_TTL_MS];
  try {
    await others.ask('start', {
      bystanders: { address, label: 'bystander', token, streams, connections, ttlMs },
      innocent: { address, label: 'innocent', token, perSecond: INNOCENT_PER_SECOND },
    });
    await sleep(SETTLING_MS);
    return await work({ ...stage, bench, others, memory });
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

export type Counts = Readonly<Record<string, number>>;

export function totalOf(counts: Counts): number {
  return sum(Object.values(counts));
}

/** The total with the counts as text, such as "(EXPIRED 3, REVOKED 1)", for a table. */
export function listed(counts: Counts): readonly [total: number, unit: '', parts: string] {
  const parts = Object.entries(counts).map(([what, count]) => `${what} ${count}`);
  return [totalOf(counts), '', parts.length === 0 ? '' : `(${parts.join(', ')})`];
}

/** The streams that were told of a loss, or ended, or were late. A late stream may also be told of its loss. */
export function disturbed({ lost, ended, late }: BystanderCounts): number {
  return Math.max(totalOf(lost) + totalOf(ended), late);
}
