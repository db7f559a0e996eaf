import { Redis } from 'ioredis';
import { RedisProcess } from '../../test/support/processes/redis-process';
import type { Item } from '../words/corpus';
import type { Ask, Engine } from './peer';

const IN_FLIGHT = 500;

export interface RedisCommands {
  version(redis: Redis): Promise<string>;
  prepare?(redis: Redis, corpus: string): Promise<unknown>;
  add(redis: Redis, corpus: string, item: Item): Promise<unknown>;
  find(redis: Redis, corpus: string, ask: Ask, query: string): Promise<string[]>;
}

/** A private Redis without persistence, which answers through commands. */
export async function openRedisEngine(
  commands: RedisCommands,
  args: readonly string[] = [],
): Promise<Engine> {
  const process = await RedisProcess.start({ args: ['--appendonly', 'no', ...args] });
  const redis = new Redis(process.port, '127.0.0.1');
  const { pid } = process;
  if (pid === undefined) throw new Error('Redis runs in a container, where it cannot be measured');
  return {
    version: await commands.version(redis),
    pid,
    load: async (corpus, items) => {
      await commands.prepare?.(redis, corpus);
      let pending: Promise<unknown>[] = [];
      for (const item of items) {
        if (pending.push(commands.add(redis, corpus, item)) < IN_FLIGHT) continue;
        await Promise.all(pending);
        pending = [];
      }
      await Promise.all(pending);
    },
    find: (corpus, ask, query) => commands.find(redis, corpus, ask, query),
    empty: async () => void (await redis.ping()),
    close: async () => {
      redis.disconnect();
      await process.close();
    },
  };
}
