import { BenchRedis } from './redis';
import { BenchServer } from './server';

/** What every row plays on: a Redis and a server, fresh. */
export interface Stage {
  readonly redis: BenchRedis;
  readonly server: BenchServer;
}

export async function onStage<T>(play: (stage: Stage) => Promise<T>): Promise<T> {
  const stage = await openStage();
  try {
    return await play(stage);
  } finally {
    await closeStage(stage);
  }
}

/** `built`: another dist/ than this one. */
export async function openStage(built?: string): Promise<Stage> {
  const redis = await BenchRedis.start();
  try {
    return { redis, server: await BenchServer.start(redis.url, built) };
  } catch (error) {
    await redis.close();
    throw error;
  }
}

export async function closeStage({ redis, server }: Stage): Promise<void> {
  await server.close();
  await redis.close();
}
