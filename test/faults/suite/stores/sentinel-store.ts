import type { RedisProcess } from '../../../support/processes/redis-process';
import { RedisSentinels, type RedisSentinelsOptions } from '../../../support/processes/redis-sentinels';
import type { FailoverStore } from './store';

/** How long it is believed who the master is: to ask a sentinel for each command would be most of the work. */
const BELIEVED_MS = 300;

/** One Redis with replicas, of which sentinels put one in its place when it is gone. */
export class SentinelStore implements FailoverStore {
  private believed: { readonly master: RedisProcess; readonly until: number } | undefined;

  private constructor(private readonly sentinels: RedisSentinels) {}

  static async start(options: Pick<RedisSentinelsOptions, 'args' | 'env'>): Promise<SentinelStore> {
    return new SentinelStore(await RedisSentinels.start(options));
  }

  get url(): string {
    return this.sentinels.url;
  }

  async masters(): Promise<readonly RedisProcess[]> {
    if (this.believed === undefined || performance.now() > this.believed.until) {
      const master = await this.sentinels.master();
      this.believed = { master, until: performance.now() + BELIEVED_MS };
    }
    return [this.believed.master];
  }

  async replicasOf(master: RedisProcess): Promise<readonly RedisProcess[]> {
    return this.sentinels.redis.filter((redis) => redis !== master);
  }

  async handOver(): Promise<void> {
    await this.sentinels.failover();
  }

  /** The sentinels do it by themselves. */
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
