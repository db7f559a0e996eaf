import { setTimeout as sleep } from 'node:timers/promises';
import { RedisProcess } from '../../test/support/processes/redis-process';

/** The commands that run a script, or operations of the library of functions. */
const RUNS = new Set(['evalsha', 'fcall']);

/** The slow log keeps the commands that take longer than this time. */
const SLOW_MICROSECONDS = 2000;

/**
 * The numbers of calls, including the calls of commands inside scripts, without the reading itself. A call of the library is a
 * script.
 */
export interface CommandCounts {
  /** All commands of all clients and scripts. */
  readonly all: number;
  readonly scripts: number;
  /** The time for which scripts ran, by Redis's own clock (µs). */
  readonly scriptMicroseconds: number;
  /** The time of all commands (µs). The time of a command inside a script counts twice. */
  readonly microseconds: number;
}

/** The time for which scripts and single commands in scripts blocked Redis, by Redis's own clock (ms). */
export interface Longest {
  /** No less than the 99.9th percentile of the times of all scripts: the greater one of scripts and of the library. */
  readonly nearlyAllScripts: number;
  readonly script: number;
  readonly command: number;
  /** The number of scripts that took more than 2 ms. */
  readonly slow: number;
}

/** A private Redis with the statistics that benchmarks read. Every write is synced before its reply. */
export class BenchRedis {
  private constructor(private readonly redis: RedisProcess) {}

  static async start(): Promise<BenchRedis> {
    const redis = await RedisProcess.start({
      inMemory: true,
      args: [
        ...['--maxclients', '20000', '--latency-tracking-info-percentiles', '50 99 99.9 100'],
        ...['--slowlog-log-slower-than', String(SLOW_MICROSECONDS), '--slowlog-max-len', '100000'],
      ],
    });
    return new BenchRedis(redis);
  }

  get url(): string {
    return this.redis.adminUrl;
  }

  get port(): number {
    return this.redis.port;
  }

  get pid(): number {
    const { pid } = this.redis;
    if (pid === undefined)
      throw new Error('Redis has ended, or runs in a container, where it cannot be measured');
    return pid;
  }

  async commandCounts(): Promise<CommandCounts> {
    const text = await this.info('commandstats');
    let all = 0;
    let scripts = 0;
    let scriptMicroseconds = 0;
    let microseconds = 0;
    for (const [, name, calls, usec] of text.matchAll(/^cmdstat_(\S+?):calls=(\d+),usec=(\d+)/gm)) {
      if (name === 'info') continue;
      all += Number(calls);
      microseconds += Number(usec);
      if (!RUNS.has(name ?? '')) continue;
      scripts += Number(calls);
      scriptMicroseconds += Number(usec);
    }
    return { all, scripts, scriptMicroseconds, microseconds };
  }

  /** The longest blocking since the last reset, from Redis's own statistics, which are exact to about a percent. */
  async longest(): Promise<Longest> {
    const text = await this.info('latencystats');
    let [nearlyAllScripts, script, command] = [0, 0, 0];
    for (const [, name, list = ''] of text.matchAll(/^latency_percentiles_usec_(\S+?):(\S+)/gm)) {
      const pairs = [...list.matchAll(/p([\d.]+)=([\d.]+)/g)];
      const times = new Map(pairs.map(([, at, us]) => [at, Number(us) / 1000]));
      const longest = times.get('100') ?? 0;
      if (RUNS.has(name ?? '')) {
        nearlyAllScripts = Math.max(nearlyAllScripts, times.get('99.9') ?? 0);
        script = Math.max(script, longest);
      } else {
        command = Math.max(command, longest);
      }
    }
    type Entry = [id: string, at: string, us: string, words: string[]];
    const log = (await this.redis.command('SLOWLOG', 'GET', -1)) as Entry[];
    // The slow log also has the single commands inside scripts.
    const slow = log.filter(([, , , [name]]) => RUNS.has(name?.toLowerCase() ?? '')).length;
    return { nearlyAllScripts, script, command, slow };
  }

  /** The allocated bytes, after the end of a rewrite in the background. */
  async usedMemory(): Promise<number> {
    while (/^aof_rewrite_(in_progress|scheduled):1/m.test(await this.info('persistence'))) await sleep(50);
    const value = /^used_memory:(\d+)/m.exec(await this.info('memory'))?.[1];
    if (value === undefined) throw new Error('INFO memory lacks the field used_memory');
    return Number(value);
  }

  async keyCount(): Promise<number> {
    return Number(await this.redis.command('DBSIZE'));
  }

  async resetStatistics(): Promise<void> {
    await this.redis.command('CONFIG', 'RESETSTAT');
    await this.redis.command('SLOWLOG', 'RESET');
  }

  async close(): Promise<void> {
    await this.redis.close();
  }

  private async info(section: string): Promise<string> {
    return String(await this.redis.command('INFO', section));
  }
}
