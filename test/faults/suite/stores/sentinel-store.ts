import type { RedisProcess } from '../../../support/processes/redis-process';
import { RedisSentinels, type RedisSentinelsOptions } from '../../../support/processes/redis-sentinels';
import type { FailoverStore } from './store';

/** The time for which the answer of a sentinel is cached (ms), because a question before each command is too slow. */
const CACHE_MS = 300;

/** A Redis with replicas. Sentinels promote a replica when the master is down. */
export class SentinelStore implements FailoverStore {
  private cached: { readonly master: RedisProcess; readonly until: number } | undefined;

  private constructor(private readonly sentinels: RedisSentinels) {}

  static async start(options: Pick<RedisSentinelsOptions, 'args' | 'env'>): Promise<SentinelStore> {
    return new SentinelStore(await RedisSentinels.start(options));
  }

  get url(): string {
    return this.sentinels.url;
  }

  async masters(): Promise<readonly RedisProcess[]> {
    if (this.cached === undefined || performance.now() > this.cached.until) {
      const master = await this.sentinels.master();
      this.cached = { master, until: performance.now() + CACHE_MS };
    }
    return [this.cached.master];
  }

  async replicasOf(master: RedisProcess): Promise<readonly RedisProcess[]> {
    return this.sentinels.redis.filter((redis) => redis !== master);
  }

  async handOver(): Promise<void> {
    await this.sentinels.failover();
  }

  /** Does nothing: the sentinels promote a replica. */
  async takeOver(): Promise<void> {}

  async command(...command: Parameters<RedisProcess['command']>): Promise<unknown> {
    const [master] = await this.masters();
    if (master === undefined) throw new Error('the sentinels name no master');
    return master.command(...command);
  }

  close(): Promise<void> {
    return this.sentinels.close();
  }
}
