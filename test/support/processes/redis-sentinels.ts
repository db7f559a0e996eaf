import { eventually } from '../eventually';
import { freePort } from './child-program';
import {
  credentials,
  documentedRules,
  RedisProcess,
  SERVER_USER,
  tlsArguments,
  tlsLines,
} from './redis-process';

export interface RedisSentinelsOptions {
  /** The number of replicas. Default 2. */
  readonly replicas?: number;
  /** The number of sentinels. Default 3. The quorum is 2. */
  readonly sentinels?: number;
  /** `url` uses TLS. */
  readonly secure?: boolean;
  /** Added to the arguments of each redis-server. */
  readonly args?: readonly string[];
  /** Added to the environment of each redis-server, but not of the sentinels. */
  readonly env?: Readonly<Record<string, string>>;
}

const MASTER = 'main';
/** A master that is silent for longer than this counts as down. */
const DOWN_AFTER_MS = 500;
const START_TIMEOUT_MS = 60_000;
/** The timeout is short, because `master` also asks sentinels that a test has paused. */
const COMMAND_TIMEOUT_MS = 5_000;
/** A value for HOLDFAST_REDIS_SENTINEL_AUTH. */
export const SENTINEL_AUTH = credentials.slice(0, -1);

interface Place {
  readonly redis: RedisProcess;
  /** The port for Holdfast servers. */
  readonly port: number;
}

/** A private Redis with replicas, and sentinels that choose the master. */
export class RedisSentinels {
  private constructor(
    private readonly members: readonly Place[],
    private readonly sentinels: readonly Place[],
    private readonly secure: boolean,
  ) {}

  static async start(options: RedisSentinelsOptions = {}): Promise<RedisSentinels> {
    const { replicas = 2, sentinels = 3, secure = false, args = [], env = {} } = options;
    const members: Place[] = [];
    const watchers: Place[] = [];
    const all = new RedisSentinels(members, watchers, secure);
    try {
      const master = await startRedis(secure, args, env);
      members.push(master);
      const follow = ['--replicaof', '127.0.0.1', String(master.port)];
      const others = Array.from({ length: replicas }, () => startRedis(secure, [...args, ...follow], env));
      members.push(...(await allStarted(others)));
      watchers.push(
        ...(await allStarted(Array.from({ length: sentinels }, () => startSentinel(master.port, secure)))),
      );
      await all.agreed();
    } catch (error) {
      await all.close();
      throw error;
    }
    return all;
  }

  /** A value for HOLDFAST_REDIS_URL. */
  get url(): string {
    const hosts = this.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `${this.secure ? 'rediss' : 'redis'}+sentinel://${credentials}${hosts}/${MASTER}`;
  }

  /** The master that the first answering sentinel names. */
  async master(): Promise<RedisProcess> {
    for (const { redis } of this.sentinels) {
      const answer = await redis
        .command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)
        .catch(() => undefined);
      const place = this.members.find(({ port }) => String(port) === (answer as string[] | undefined)?.[1]);
      if (place) return place.redis;
    }
    throw new Error('no sentinel names a master');
  }

  async masters(): Promise<RedisProcess[]> {
    return [await this.master()];
  }

  get redis(): readonly RedisProcess[] {
    return this.members.map(({ redis }) => redis);
  }

  get watchers(): readonly RedisProcess[] {
    return this.sentinels.map(({ redis }) => redis);
  }

  /** Orders a failover. Repeats the order while the sentinels find no replica that is in sync. */
  async failover(): Promise<void> {
    const before = await this.master();
    const { redis } = this.sentinels[0] as Place;
    const isDone = async (): Promise<boolean> => {
      if ((await this.master()) !== before) return true;
      const state = fields((await redis.command('SENTINEL', 'MASTER', MASTER)) as string[]);
      const isUnderWay = state.get('flags')?.includes('failover_in_progress') === true;
      if (!isUnderWay) await redis.command('SENTINEL', 'FAILOVER', MASTER);
      return false;
    };
    await eventually('another master', isDone, { timeoutMs: START_TIMEOUT_MS, everyMs: 50 });
  }

  async close(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.members].map(({ redis }) => redis.close()));
  }

  /** Waits until each sentinel knows all replicas and sentinels, and all replicas are in sync. */
  private async agreed(): Promise<void> {
    for (const { redis } of this.sentinels) {
      await eventually(
        'the sentinels to know each other and the replicas',
        async () => {
          const state = fields((await redis.command('SENTINEL', 'MASTER', MASTER)) as string[]);
          const others = Number(state.get('num-other-sentinels'));
          const replicas = Number(state.get('num-slaves'));
          const isUp = state.get('flags') === 'master';
          return isUp && others === this.sentinels.length - 1 && replicas === this.members.length - 1;
        },
        { timeoutMs: START_TIMEOUT_MS },
      );
    }
    for (const { redis } of this.members.slice(1)) {
      await eventually(
        'a replica to be in sync',
        async () => /^master_link_status:up/m.test(String(await redis.command('INFO', 'replication'))),
        { timeoutMs: START_TIMEOUT_MS },
      );
    }
  }
}

/** Resolves to all processes. If a process fails to start, closes the other processes and rejects. */
async function allStarted(starting: readonly Promise<Place>[]): Promise<Place[]> {
  const outcomes = await Promise.allSettled(starting);
  const started = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = outcomes.find((one) => one.status === 'rejected');
  if (!failed) return started;
  await Promise.all(started.map(({ redis }) => redis.close()));
  throw failed.reason;
}

function fields(flat: readonly string[]): Map<string, string> {
  return new Map(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] as string] as const] : [])));
}

async function startRedis(
  secure: boolean,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Place> {
  const tlsPort = await freePort();
  const redis = await RedisProcess.start({
    appendfsync: 'no',
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    args: ['--repl-diskless-sync-delay', '0', ...(secure ? tlsArguments(tlsPort) : []), ...args],
    env,
  });
  return { redis, port: secure ? tlsPort : redis.port };
}

async function startSentinel(masterPort: number, secure: boolean): Promise<Place> {
  const tlsPort = await freePort();
  const redis = await RedisProcess.start({
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    sentinel: [
      `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 2`,
      `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${MASTER} 3000`,
      `sentinel parallel-syncs ${MASTER} 8`,
      ...(secure ? tlsLines(tlsPort) : []),
    ],
  });
  // A tenth of the default periods, for fast tests.
  const periods = ['publish-period', '200', 'info-period', '500', 'ping-period', '200', 'ask-period', '100'];
  await redis.command('SENTINEL', 'DEBUG', ...periods);
  await redis.command('ACL', 'SETUSER', SERVER_USER, ...documentedRules('sentinels'));
  return { redis, port: secure ? tlsPort : redis.port };
}
