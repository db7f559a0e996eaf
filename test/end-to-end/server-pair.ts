import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import type { Stopwatch } from '../support/stopwatch';
import { InProcessServer } from './in-process-server';

/** Two servers of the same Redis. */
export class ServerPair {
  private constructor(
    private readonly redis: RedisProcess,
    readonly first: InProcessServer,
    readonly second: InProcessServer,
  ) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<ServerPair> {
    const redis = await RedisProcess.start();
    const server = () => InProcessServer.start(redis.url, env);
    return new ServerPair(redis, ...(await Promise.all([server(), server()])));
  }

  /** Starts a stopwatch that subtracts the waits of this process and of Redis for a core. */
  stopwatch(): Stopwatch {
    return this.redis.stopwatch();
  }

  close(): Promise<void> {
    return closeAll(
      () => this.first.close(),
      () => this.second.close(),
      () => this.redis.close(),
    );
  }
}

/** Waits until the service reports this number of waiters for a name. */
export async function untilWaiterCount(
  client: { get(name: string): Promise<{ readonly waiterCount: number }> },
  name: string,
  count: number,
): Promise<void> {
  await eventually(`${count} waiters`, async () => (await client.get(name)).waiterCount === count);
}
