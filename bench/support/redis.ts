import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { ChildSupervisor } from '../../src/dev/child-supervisor';
import { askRedis } from '../../src/dev/redis-probe';
import { findRedisServer } from '../../src/dev/redis-server';
import { freePort } from './free-port';
import { scratchFolder } from './scratch';

const START_TIMEOUT_MS = 15_000;
const ANSWER_TIMEOUT_MS = 10_000;
/** What takes longer stands in Redis's slow log. */
const SLOW_MICROSECONDS = 2000;

/** How often commands were called, those that scripts call too; and what the scripts cost. */
export interface CommandCounts {
  /** Every command, by any client or script. */
  readonly all: number;
  readonly scripts: number;
  /** Time in scripts, as Redis sees it (µs). */
  readonly scriptMicroseconds: number;
}

/** A private Redis, as durable as Holdfast asks for: every write is synced before it is answered. */
export class BenchRedis {
  private constructor(
    private readonly guard: ChildSupervisor,
    private readonly socket: string,
    readonly port: number,
    /** "Redis 7.0.15". */
    readonly version: string,
  ) {}

  static async start(): Promise<BenchRedis> {
    const program = await findRedisServer({ env: process.env, note: (text) => console.error(text) });
    const folder = await scratchFolder('redis');
    const port = await freePort();
    const socket = join(folder, 'redis.sock');
    const guard = new ChildSupervisor({
      command: program.command,
      args: [
        ...['--bind', '127.0.0.1', '--port', String(port), '--unixsocket', socket, '--dir', folder],
        ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', '', '--maxclients', '20000'],
        ...['--latency-tracking-info-percentiles', '50 99 99.9 100'],
        ...['--slowlog-log-slower-than', String(SLOW_MICROSECONDS), '--slowlog-max-len', '100000'],
      ],
      env: program.env,
      logFile: join(folder, 'redis.log'),
      graceMs: 0,
      removeAtEnd: folder,
    });
    await guard.start();
    const redis = new BenchRedis(guard, socket, port, `${program.product} ${program.version}`);
    await redis.answers();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    if (this.guard.pid === undefined) throw new Error('Redis has ended');
    return this.guard.pid;
  }

  async commandCounts(): Promise<CommandCounts> {
    const text = await askRedis(this.socket, 'INFO commandstats', ANSWER_TIMEOUT_MS);
    let all = 0;
    let scripts = 0;
    let scriptMicroseconds = 0;
    for (const [, name, calls, usec] of text.matchAll(/^cmdstat_(\S+?):calls=(\d+),usec=(\d+)/gm)) {
      all += Number(calls);
      if (name !== 'evalsha') continue;
      scripts = Number(calls);
      scriptMicroseconds = Number(usec);
    }
    return { all, scripts, scriptMicroseconds };
  }

  /** How long scripts took since the last reset, and the longest single command (us, to about a percent). */
  async longest(): Promise<{ nearlyAllScripts: number; script: number; command: number }> {
    const { script, command } = await this.times();
    return { nearlyAllScripts: script['99.9'] ?? 0, script: script['100'] ?? 0, command };
  }

  /** The times of scripts since the last reset, by percentile (us, to about a percent). */
  async scriptTimes(): Promise<{ p50: number; p99: number }> {
    const { script } = await this.times();
    return { p50: script['50'] ?? 0, p99: script['99'] ?? 0 };
  }

  /** Bytes that it has allocated, once what it does in the background is done. */
  async usedMemory(): Promise<number> {
    for (;;) {
      const persistence = await askRedis(this.socket, 'INFO persistence', ANSWER_TIMEOUT_MS);
      if (!/^aof_rewrite_(in_progress|scheduled):1/m.test(persistence)) break;
      await sleep(50);
    }
    return this.info('memory', 'used_memory');
  }

  /** How often it read from connections: with one request at a time on its way, the round trips. */
  reads(): Promise<number> {
    return this.info('stats', 'total_reads_processed');
  }

  async keyCount(): Promise<number> {
    return Number((await askRedis(this.socket, 'DBSIZE', ANSWER_TIMEOUT_MS)).slice(1));
  }

  /** How many scripts took more than 2 ms since the last reset. */
  async slowScripts(): Promise<number> {
    const client = new Redis(this.port, '127.0.0.1');
    try {
      const entries = (await client.slowlog('GET', -1)) as [
        id: number,
        at: number,
        us: number,
        words: string[],
      ][];
      // The single commands of a script are there, too.
      return entries.filter(([, , , [command]]) => command?.toLowerCase() === 'evalsha').length;
    } finally {
      client.disconnect();
    }
  }

  async resetStatistics(): Promise<void> {
    await askRedis(this.socket, 'CONFIG RESETSTAT', ANSWER_TIMEOUT_MS);
    await askRedis(this.socket, 'SLOWLOG RESET', ANSWER_TIMEOUT_MS);
  }

  async close(): Promise<void> {
    await this.guard.end();
  }

  private async times(): Promise<{ script: Readonly<Record<string, number>>; command: number }> {
    const text = await askRedis(this.socket, 'INFO latencystats', ANSWER_TIMEOUT_MS);
    let script: Record<string, number> = {};
    let command = 0;
    for (const [, name, list = ''] of text.matchAll(/^latency_percentiles_usec_(\S+?):(\S+)/gm)) {
      const pairs = [...list.matchAll(/p([\d.]+)=([\d.]+)/g)].map(
        ([, at, value]) => [at, Number(value)] as const,
      );
      const times = Object.fromEntries(pairs) as Record<string, number>;
      if (name === 'evalsha') script = times;
      else command = Math.max(command, times['100'] ?? 0);
    }
    return { script, command };
  }

  private async info(section: string, field: string): Promise<number> {
    const text = await askRedis(this.socket, `INFO ${section}`, ANSWER_TIMEOUT_MS);
    const value = new RegExp(`^${field}:(\\d+)`, 'm').exec(text)?.[1];
    if (value === undefined) throw new Error(`INFO ${section} does not tell ${field}`);
    return Number(value);
  }

  private async answers(): Promise<void> {
    const until = performance.now() + START_TIMEOUT_MS;
    for (;;) {
      const answer = await askRedis(this.socket, 'PING', ANSWER_TIMEOUT_MS).catch((error: Error) => error);
      if (answer === '+PONG') return;
      if (this.guard.pid === undefined) throw new Error('Redis ended at its start');
      if (performance.now() > until) throw new Error(`Redis does not answer: ${String(answer)}`);
      await sleep(20);
    }
  }
}
