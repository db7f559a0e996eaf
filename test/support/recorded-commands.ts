import type { RedisProcess } from './processes/redis-process';

/** The commands that one Redis ran, by its slow log. */
export class RecordedCommands {
  private constructor(private readonly redis: RedisProcess) {}

  /** Records all commands from now on. */
  static async start(redis: RedisProcess): Promise<RecordedCommands> {
    await redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '100000');
    await redis.command('SLOWLOG', 'RESET');
    return new RecordedCommands(redis);
  }

  /** The number of commands with this text among their arguments. */
  async countWith(text: string): Promise<number> {
    const entries = (await this.redis.command('SLOWLOG', 'GET', '-1')) as readonly (readonly unknown[])[];
    return entries.filter((one) => JSON.stringify(one[3]).includes(text)).length;
  }

  async stop(): Promise<void> {
    await this.redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', '-1');
    await this.redis.command('SLOWLOG', 'RESET');
  }
}
