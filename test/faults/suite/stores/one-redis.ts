import { RedisProcess, type RedisProcessOptions } from '../../../support/processes/redis-process';
import { COMMAND_TIMEOUT_MS } from '../../fleet';
import type { SuiteStore } from './store';

export class OneRedis implements SuiteStore {
  private constructor(private readonly redis: RedisProcess) {}

  static async start(options: RedisProcessOptions): Promise<OneRedis> {
    return new OneRedis(await RedisProcess.start({ commandTimeoutMs: COMMAND_TIMEOUT_MS, ...options }));
  }

  get url(): string {
    return this.redis.url;
  }

  get port(): number {
    return this.redis.port;
  }

  async masters(): Promise<readonly RedisProcess[]> {
    return [this.redis];
  }

  command(...command: Parameters<RedisProcess['command']>): Promise<unknown> {
    return this.redis.command(...command);
  }

  close(): Promise<void> {
    return this.redis.close();
  }
}
