import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from '../eventually';
import { ROOT } from '../root';
import { Stopwatch } from '../stopwatch';
import { freePort } from './child-program';
import { openHost, type RedisHost } from './redis-host';

/** A self-signed certificate for 127.0.0.1, which clients and servers share. */
const folder = join(ROOT, 'test/contract/tls');
const CERT = join(folder, 'cert.pem');
const KEY = join(folder, 'key.pem');

/** Arguments for TLS with client certificates on a second port, and for TLS of replicas and of the cluster bus. */
export function tlsArguments(port: number): string[] {
  return [
    ...['--tls-port', String(port), '--tls-cert-file', CERT, '--tls-key-file', KEY],
    ...['--tls-ca-cert-file', CERT, '--tls-auth-clients', 'yes', '--tls-replication', 'yes'],
  ];
}

/** The arguments of `tlsArguments` as lines of a configuration file. */
export function tlsLines(port: number): string[] {
  const args = tlsArguments(port);
  return args.flatMap((arg, i) => (i % 2 === 0 ? [`${arg.slice(2)} ${args[i + 1]}`] : []));
}

/** The settings of a Holdfast server that connects with this certificate. */
export const tlsSettings: Readonly<Record<string, string>> = {
  HOLDFAST_REDIS_TLS_CA: CERT,
  HOLDFAST_REDIS_TLS_CERT: CERT,
  HOLDFAST_REDIS_TLS_KEY: KEY,
};

/** The lines with rights in docs/operations/deploy.md, in their order. */
const ROLES = ['servers', 'database', 'cluster', 'sentinels', 'dictionaries', 'replica'] as const;
export type Role = (typeof ROLES)[number];

/** The Redis user of servers under test. The tests themselves connect as the default user. */
export const SERVER_USER = 'holdfast';
const PASSWORD = 'a:s3cret@';
const LINE = /^\$ redis-cli (?:-p \d+ )?ACL SETUSER holdfast (.+)$/gm;
/** Tests of stores have keys and channels with this prefix instead of the default. */
const TEST_PREFIX = ['~test:*', '&test:*'];

/** User and password at the beginning of an address. */
export const credentials = `${SERVER_USER}:${encodeURIComponent(PASSWORD)}@`;

/** A value for HOLDFAST_REDIS_URL: the Redis, or the proxy, at `host:port`. */
export function serverUrl(address: string): string {
  return `redis://${credentials}${address}`;
}

/** The rules of the documented ACL SETUSER for one role, exactly as an operator would copy them. */
export function documentedRules(role: Role): readonly string[] {
  const text = readFileSync(join(ROOT, 'docs/operations/deploy.md'), 'utf8').replace(/ \\\n\s*/g, ' ');
  const lines = [...text.matchAll(LINE)].map(([, rules = '']) => rules);
  if (lines.length !== ROLES.length) throw new Error(`deploy.md has ${lines.length} lines with rights`);
  const line = lines[ROLES.indexOf(role)] as string;
  return line.split(/\s+/).map((rule) => rule.replace(/^'(.*)'$/, '$1').replace('>SECRET', `>${PASSWORD}`));
}

/** The arguments of a redis-server with the documented user. The user survives a restart. */
function userArguments(isCluster: boolean): string[] {
  const ofCluster = isCluster ? documentedRules('cluster') : [];
  return ['--user', SERVER_USER, ...documentedRules('servers'), ...ofCluster, ...TEST_PREFIX];
}

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
