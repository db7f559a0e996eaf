import type { ServerProcess } from '../../test/support/processes/server-process';
import { BenchRedis } from './redis';
import { startBenchServer } from './server';

/** The new Redis and the new server of one row. */
export interface Stage {
  readonly redis: BenchRedis;
  readonly server: ServerProcess;
}

export async function onStage<T>(work: (stage: Stage) => Promise<T>): Promise<T> {
  const stage = await openStage();
  try {
    return await work(stage);
  } finally {
    await closeStage(stage);
  }
}

/** @param dist the folder dist/ of another build */
export async function openStage(dist?: string): Promise<Stage> {
  const redis = await BenchRedis.start();
  try {
    return { redis, server: await startBenchServer(redis.url, dist) };
  } catch (error) {
    await redis.close();
    throw error;
  }
}

export async function closeStage({ redis, server }: Stage): Promise<void> {
  await server.close();
  await redis.close();
}
