import type { ServerProcess } from '../../test/support/processes/server-process';
import { BenchRedis } from './redis';
import { startBenchServer, type BenchServerOptions } from './server';

/** The new Redis and the new server of one row. */
export interface Stage {
  readonly redis: BenchRedis;
  readonly server: ServerProcess;
}

export async function onStage<T>(
  work: (stage: Stage) => Promise<T>,
  options?: BenchServerOptions,
): Promise<T> {
  const stage = await openStage(options);
  try {
    return await work(stage);
  } finally {
    await closeStage(stage);
  }
}

export async function openStage(options?: BenchServerOptions): Promise<Stage> {
  const redis = await BenchRedis.start();
  try {
    return { redis, server: await startBenchServer(redis.url, options) };
  } catch (error) {
    await redis.close();
    throw error;
  }
}

export async function closeStage({ redis, server }: Stage): Promise<void> {
  await server.close();
  await redis.close();
}
