import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Ledger, type Entry } from '../../examples/worker-typescript/ledger';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { WorkerProcess, type Launcher } from './worker-process';
import { makeScratchFolder } from '../support/processes/scratch-folder';

export const TTL_MS = 1500;
const STEP_MS = 50;

/** With these keep-alive times the server notices a paused client after 1 s instead of 15 s. */
const SERVER_ENV = {
  HOLDFAST_KEEPALIVE_TIME: '500ms',
  HOLDFAST_KEEPALIVE_TIMEOUT: '500ms',
};

/** A Redis with two servers. Each test gets a new name, a new ledger and its own workers. */
export class Stage {
  /** The name of the lock or the semaphore of the current test. */
  name = '';
  private ledgerFolder = '';
  private ledger = new Ledger('');
  private workers: WorkerProcess[] = [];
  private extraServers: ServerProcess[] = [];

  private constructor(
    readonly redis: RedisProcess,
    readonly folder: string,
    readonly servers: readonly ServerProcess[],
  ) {}

  static async open(): Promise<Stage> {
    const folder = makeScratchFolder('worker');
    const redis = await RedisProcess.start();
    const start = () => ServerProcess.start({ redisUrl: redis.url, env: SERVER_ENV });
    return new Stage(redis, folder, await Promise.all([start(), start()]));
  }

  async close(): Promise<void> {
    await this.clear();
    await Promise.all(this.servers.map((server) => server.close()));
    await this.redis.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Call this before each test. */
  reset(): void {
    this.name = `report-${randomUUID()}`;
    this.ledgerFolder = join(this.folder, this.name);
    this.ledger = new Ledger(this.ledgerFolder);
  }

  /** Call this after each test. */
  async clear(): Promise<void> {
    await Promise.all([...this.workers, ...this.extraServers].map((process) => process.close()));
    this.workers = [];
    this.extraServers = [];
  }

  async extraServer(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    const server = await ServerProcess.start({ redisUrl: this.redis.url, env: { ...SERVER_ENV, ...env } });
    this.extraServers.push(server);
    return server;
  }

  /** Starts a worker that may use the given servers, by default both. */
  async worker(
    launcher: Launcher,
    holder: string,
    servers: readonly ServerProcess[] = this.servers,
    args: readonly string[] = [],
  ): Promise<WorkerProcess> {
    return this.start(launcher, [
      holder,
      ...['--server', servers.map(({ listen }) => listen).join(',')],
      ...['--name', this.name, '--ledger', this.ledgerFolder],
      ...['--ttl', `${TTL_MS}ms`, '--step', `${STEP_MS}ms`],
      ...args,
    ]);
  }

  async start(launcher: Launcher, args: readonly string[]): Promise<WorkerProcess> {
    const started = await WorkerProcess.start(launcher, args);
    this.workers.push(started);
    return started;
  }

  /** Waits until the newest entry of the ledger satisfies the condition, and returns the entry. */
  async entry(label: string, isWanted: (entry: Entry) => boolean, timeoutMs = 20_000): Promise<Entry> {
    const find = () => {
      const last = this.ledger.last();
      return last && isWanted(last) ? last : undefined;
    };
    return eventually(`an entry in the ledger: ${label}`, find, { timeoutMs });
  }

  lastEntry(): Entry | undefined {
    return this.ledger.last();
  }
}
