import { BenchRedis } from './redis';
import { BenchServer } from './server';

/** What every row plays on: a Redis and a server, fresh. */
export interface Stage {
  readonly redis: BenchRedis;
  readonly server: BenchServer;
}

export async function onStage<T>(play: (stage: Stage) => Promise<T>): Promise<T> {
  const redis = await BenchRedis.start();
  try {
    const server = await BenchServer.start(redis.url);
    try {
      return await play({ redis, server });
    } finally {
      await server.close();
    }
  } finally {
    await redis.close();
  }
}
