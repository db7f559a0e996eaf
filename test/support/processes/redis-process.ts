import { Redis } from 'ioredis';
import { eventually } from '../eventually';
import { freePort } from './free-port';
import { openHost, type RedisHost } from './redis-host';

export interface RedisProcessOptions {
  /** When a write is safe on disk; the default is what Holdfast asks for, `always`. */
  readonly appendfsync?: 'always' | 'everysec' | 'no';
  /** As Redis writes it, "4mb"; default: no limit. */
  readonly maxmemory?: string;
  /** More arguments of redis-server. */
  readonly args?: readonly string[];
  /** A Sentinel instead of a Redis: the lines of its configuration. Nothing else is set then. */
  readonly sentinel?: readonly string[];
  /** Added to the environment of a process; a container has its own. */
  readonly env?: Readonly<Record<string, string>>;
}

const COMMAND_TIMEOUT_MS = 5_000;
const START_TIMEOUT_MS = 15_000;

function redisArguments({
  appendfsync = 'always',
  maxmemory = '0',
  args = [],
}: RedisProcessOptions): string[] {
  return [
    ...['--appendonly', 'yes', '--appendfsync', appendfsync, '--save', ''],
    ...['--maxmemory', maxmemory, '--maxmemory-policy', 'noeviction'],
    ...args,
  ];
}

/**
 * A private, real Redis for one test file, on a port of its own. It ends with the test run, and its data is
 * removed, however the run ends; call `close()` all the same.
 */
export class RedisProcess {
  private client: Redis | undefined;

  private constructor(
    private readonly host: RedisHost,
    readonly port: number,
  ) {}

  static async start(options: RedisProcessOptions = {}): Promise<RedisProcess> {
    const port = await freePort();
    const { env, sentinel } = options;
    const args = sentinel === undefined ? redisArguments(options) : (options.args ?? []);
    const host = await openHost({ port, args, ...(env && { env }), ...(sentinel && { sentinel }) });
    const redis = new RedisProcess(host, port);
    try {
      await redis.open();
    } catch (error) {
      await redis.close();
      throw error;
    }
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid(): number | undefined {
    return this.host.pid;
  }

  /** Where its data are; undefined in a container. */
  get folder(): string | undefined {
    return this.host.folder;
  }

  /** SIGKILL; the data stays, and `restart()` brings it back. */
  async kill(): Promise<void> {
    this.dropClient();
    await this.host.signal('SIGKILL');
  }

  /** Starts it again after `kill()`: same port, same data. Answers when the data is loaded. */
  async restart(): Promise<void> {
    await this.open();
  }

  /** SIGSTOP: connections stay, nothing is answered. */
  async stop(): Promise<void> {
    await this.host.signal('SIGSTOP');
  }

  /** SIGCONT: what was sent meanwhile is carried out. */
  async cont(): Promise<void> {
    await this.host.signal('SIGCONT');
  }

  /**
   * Runs one command over a connection of this helper's own; rejects after 5 s without an answer. Integers come
   * as strings, which keeps large ones exact.
   */
  async command(...[name, ...args]: [string, ...(string | number | Buffer)[]]): Promise<unknown> {
    this.client ??= this.connect();
    return this.client.call(name, args);
  }

  async close(): Promise<void> {
    this.dropClient();
    await this.host.remove();
  }

  private async open(): Promise<void> {
    await this.host.start();
    try {
      await eventually('Redis to answer', () => this.answers(), { timeoutMs: START_TIMEOUT_MS });
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${await this.host.lastWords()}`);
    }
    if (await this.host.hasEnded())
      throw new Error(`Redis ended at its start\n${await this.host.lastWords()}`);
  }

  private async answers(): Promise<boolean> {
    if (await this.host.hasEnded()) return true;
    return (await this.command('PING')) === 'PONG';
  }

  private connect(): Redis {
    const client = new Redis({
      host: '127.0.0.1',
      port: this.port,
      commandTimeout: COMMAND_TIMEOUT_MS,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 20,
      disconnectTimeout: 50,
      stringNumbers: true,
    });
    // Each command says itself that there is no connection.
    client.on('error', () => undefined);
    return client;
  }

  private dropClient(): void {
    this.client?.disconnect();
    this.client = undefined;
  }
}
