import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { ServerProcess } from '../../test/support/processes/server-process';
import { BenchClient } from '../load/bench-client';
import type { UnaryTasks } from '../load/unary';
import type { MemoryInUse } from './bench-service';
import { cpuDuring } from './cpu';
import { LoadGroup } from './load-process';
import { BenchRedis } from './redis';

/** The new Redis and the new server of one row. */
export interface Stage {
  readonly redis: BenchRedis;
  readonly server: ServerProcess;
}

/** Lines of a server in good order. */
const EXPECTED = /"msg":"listening"|"audit":true/;

export interface ServerOptions {
  /** The folder dist/ of another build. */
  readonly dist?: string;
  /** Added to the configuration. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the product's server with the bench service. */
export function startServer(redisUrl: string, { dist, env }: ServerOptions = {}): Promise<ServerProcess> {
  return ServerProcess.start({
    redisUrl,
    nodeArguments: ['--expose-gc'],
    program: join(dist ? join(dist, 'bench', 'support') : __dirname, 'server-main.js'),
    env: { HOLDFAST_LOG_LEVEL: 'warn', ...env },
    onLine: (line) => {
      if (!EXPECTED.test(line)) console.error(`server: ${line}`);
    },
  });
}

export async function onStage<T>(work: (stage: Stage) => Promise<T>, options?: ServerOptions): Promise<T> {
  const stage = await openStage(options);
  try {
    return await work(stage);
  } finally {
    await closeStage(stage);
  }
}

export async function openStage(options?: ServerOptions): Promise<Stage> {
  const redis = await BenchRedis.start();
  try {
    return { redis, server: await startServer(redis.url, options) };
  } catch (error) {
    await redis.close();
    throw error;
  }
}

export async function closeStage({ redis, server }: Stage): Promise<void> {
  await server.close();
  await redis.close();
}

/** Makes a server's first calls, which cost more CPU and memory than later calls, before the measurement. */
export async function warmUp({ server }: Stage, token?: string): Promise<void> {
  const group = new LoadGroup<UnaryTasks>('unary', 2);
  try {
    const address = server.listen;
    await group.askEach('connect', (index) => ({ address, label: `warm-up-${index}`, token }));
    for (let turn = 0; turn < 3; turn += 1) {
      await group.ask('work', { kind: 'pairs', count: 1000, inFlight: 16 });
    }
  } finally {
    group.end();
  }
}

/** The CPU of an operation (µs). */
export interface Cost {
  readonly server: number;
  readonly redis: number;
}

/** The cost of an operation, which is the mean over all operations of some work. */
export interface FullCost extends Cost {
  /** The scripts, and the commands of Redis, including the commands inside scripts. */
  readonly scripts: number;
  readonly commands: number;
  /** The time inside scripts and inside all commands, by Redis's own clock (µs). */
  readonly inScripts: number;
  readonly inCommands: number;
  /** Operations a second. */
  readonly perSecond: number;
}

/** The cost of an operation of this work, which resolves to the number of its operations. */
export async function costOf({ server, redis }: Stage, work: () => Promise<number>): Promise<FullCost> {
  const before = await redis.commandCounts();
  const startedAt = performance.now();
  const { result: count, spentMs } = await cpuDuring([server.pid, redis.pid], work);
  const ms = performance.now() - startedAt;
  const after = await redis.commandCounts();
  const [serverMs = NaN, redisMs = NaN] = spentMs;
  const grown = (what: keyof typeof before) => (after[what] - before[what]) / count;
  return {
    server: (serverMs * 1000) / count,
    redis: (redisMs * 1000) / count,
    scripts: grown('scripts'),
    commands: grown('all'),
    inScripts: grown('scriptMicroseconds'),
    inCommands: grown('microseconds'),
    perSecond: (count * 1000) / ms,
  };
}

/** The mean of two costs, for a yardstick that is measured before and after other work. */
export function meanOf(first: FullCost, second: FullCost): FullCost {
  const parts = Object.keys(first) as (keyof FullCost)[];
  const means = parts.map((part) => [part, (first[part] + second[part]) / 2]);
  return Object.fromEntries(means) as FullCost;
}

/** The growth of a counter within this time. */
export async function growthOf(count: () => Promise<number>, forMs: number): Promise<number> {
  const before = await count();
  await sleep(forMs);
  return (await count()) - before;
}

/** Resolves to the growth of the server's memory by some work, without garbage. */
export async function memoryGrowth({ server }: Stage, work: () => Promise<unknown>): Promise<MemoryInUse> {
  const bench = new BenchClient(server.listen);
  const before = await bench.memoryInUse();
  await work();
  const after = await bench.memoryInUse();
  bench.close();
  return { held: after.held - before.held, resident: after.resident - before.resident };
}
