import { Redis } from 'ioredis';
import { eventually } from '../eventually';
import { Stopwatch } from '../stopwatch';
import { freePort } from './free-port';
import { openHost, type RedisHost } from './redis-host';
import { serverUrl, userArguments } from './redis-rights';

export interface RedisProcessOptions {
  /** The setting appendfsync of Redis. Default: `always`, which Holdfast requires. */
  readonly appendfsync?: 'always' | 'everysec' | 'no';
  /** The memory limit in Redis's notation, for example "4mb". Default: no limit. */
  readonly maxmemory?: string;
  /** Added to the arguments of redis-server. */
  readonly args?: readonly string[];
  /** The configuration lines of a Sentinel. Only `args`, `env` and `commandTimeoutMs` apply to a Sentinel. */
  readonly sentinel?: readonly string[];
  /** More environment variables for the process. A Redis in a container does not get these variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Keeps the data in memory if the machine has a tmpfs. */
  readonly inMemory?: boolean;
  /** The timeout of `command()`. Default: 30 s, for a machine with busy cores. */
  readonly commandTimeoutMs?: number;
}

const COMMAND_TIMEOUT_MS = 30_000;
const START_TIMEOUT_MS = 60_000;

function redisArguments({
  appendfsync = 'always',
  maxmemory = '0',
  args = [],
}: RedisProcessOptions): string[] {
  return [
    ...['--appendonly', 'yes', '--appendfsync', appendfsync, '--save', ''],
    ...['--maxmemory', maxmemory, '--maxmemory-policy', 'noeviction'],
    ...userArguments(args.includes('--cluster-enabled')),
    ...args,
  ];
}

/**
 * A private Redis with its own port. The process and its data end with the test run, even after SIGKILL of the test
 * run. A test still closes its Redis.
 */
export class RedisProcess {
  private client: Redis | undefined;
  private closed = false;

  private constructor(
    private readonly host: RedisHost,
    readonly port: number,
    private readonly commandTimeoutMs: number,
  ) {}

  static async start(options: RedisProcessOptions = {}): Promise<RedisProcess> {
    const port = await freePort();
    const { env = {}, sentinel, inMemory = false, commandTimeoutMs = COMMAND_TIMEOUT_MS } = options;
    const args = sentinel === undefined ? redisArguments(options) : (options.args ?? []);
    const host = await openHost({ port, args, env, inMemory, ...(sentinel && { sentinel }) });
    const redis = new RedisProcess(host, port, commandTimeoutMs);
    try {
      await redis.open();
    } catch (error) {
      await redis.close();
      throw error;
    }
    return redis;
  }

  /** For servers under test: as the user with exactly the documented rights (docs/operations/deploy.md). */
  get url(): string {
    return serverUrl(`127.0.0.1:${this.port}`);
  }

  /** For the clients of a test: as the default user, which may do everything. */
  get adminUrl(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid(): number | undefined {
    return this.host.pid;
  }

  /** Starts a stopwatch that subtracts the waits of this process and of Redis for a core. */
  stopwatch(): Stopwatch {
    return new Stopwatch(() => [process.pid, ...(this.pid === undefined ? [] : [this.pid])]);
  }

  /** The folder of the data. Undefined in a container. */
  get folder(): string | undefined {
    return this.host.folder;
  }

  /** Kills Redis with SIGKILL. The data stays for `restart()`. */
  async kill(): Promise<void> {
    this.dropClient();
    await this.host.signal('SIGKILL');
  }

  /** Starts Redis again after `kill()` on the same port and data. Resolves when the data is loaded. */
  async restart(): Promise<void> {
    await this.open();
  }

  /** Stops Redis with SIGSTOP. Connections stay open, and no command is answered. */
  async stop(): Promise<void> {
    await this.host.signal('SIGSTOP');
  }

  /** Continues Redis with SIGCONT. Redis then runs the commands that arrived during the stop. */
  async cont(): Promise<void> {
    await this.host.signal('SIGCONT');
  }

  /**
   * Runs one command over a connection of this object. Rejects immediately if Redis does not run or is closed, and
   * after the command timeout if Redis does not answer. Integers are returned as strings, which keep large numbers
   * exact.
   */
  async command(...[name, ...args]: [string, ...(string | number | Buffer)[]]): Promise<unknown> {
    // A connection that is opened after `close()` retries forever, and keeps the test run alive.
    if (this.closed) throw new Error(`${name}: this Redis is closed`);
    this.client ??= this.connect();
    return this.client.call(name, args);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.dropClient();
    await this.host.remove();
  }

  private async open(): Promise<void> {
    await this.host.start();
    try {
      await eventually('Redis to answer', () => this.answers(), { timeoutMs: START_TIMEOUT_MS });
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${await this.host.logTail()}`);
    }
    if (await this.host.hasEnded()) throw new Error(`Redis ended at its start\n${await this.host.logTail()}`);
  }

  private async answers(): Promise<boolean> {
    if (await this.host.hasEnded()) return true;
    return (await this.command('PING')) === 'PONG';
  }

  private connect(): Redis {
    const client = new Redis({
      host: '127.0.0.1',
      port: this.port,
      commandTimeout: this.commandTimeoutMs,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 20,
      disconnectTimeout: 50,
      stringNumbers: true,
    });
    // Each command rejects with the error of its connection.
    client.on('error', () => undefined);
    return client;
  }

  private dropClient(): void {
    this.client?.disconnect();
    this.client = undefined;
  }
}
