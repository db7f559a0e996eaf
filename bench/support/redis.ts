import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Guard } from '../../src/dev/guard';
import { askRedis } from '../../src/dev/redis-probe';
import { findRedisServer } from '../../src/dev/redis-server';
import { freePort } from './free-port';
import { scratchFolder } from './scratch';

const START_TIMEOUT_MS = 15_000;
const ANSWER_TIMEOUT_MS = 10_000;

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
    private readonly guard: Guard,
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
    const guard = new Guard({
      command: program.command,
      args: [
        ...['--bind', '127.0.0.1', '--port', String(port), '--unixsocket', socket, '--dir', folder],
        ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', '', '--maxclients', '20000'],
        ...['--latency-tracking-info-percentiles', '99.9 100'],
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
    const text = await askRedis(this.socket, 'INFO latencystats', ANSWER_TIMEOUT_MS);
    let [nearlyAllScripts, script, command] = [0, 0, 0];
    for (const [, name, most, all] of text.matchAll(
      /^latency_percentiles_usec_(\S+?):p99\.9=([\d.]+),p100=([\d.]+)/gm,
    )) {
      if (name === 'evalsha') [nearlyAllScripts, script] = [Number(most), Number(all)];
      else command = Math.max(command, Number(all));
    }
    return { nearlyAllScripts, script, command };
  }

  async resetStatistics(): Promise<void> {
    await askRedis(this.socket, 'CONFIG RESETSTAT', ANSWER_TIMEOUT_MS);
  }

  async close(): Promise<void> {
    await this.guard.end();
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
