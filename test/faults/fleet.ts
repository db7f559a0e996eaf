import { readdir, readlink } from 'node:fs/promises';
import * as scripts from '../../generated/redis/scripts';
import { eventually } from '../support/eventually';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { RedisProcess, type RedisProcessOptions, serverUrl } from '../support/processes/redis-process';
import { ServerProcess, type ServerProcessOptions } from '../support/processes/server-process';

/** The timeout is short, because an observer reads from a Redis that a test may have paused. */
export const COMMAND_TIMEOUT_MS = 5_000;
const SOCKETS_TIMEOUT_MS = 30_000;

/** The store of a fleet's servers: one Redis, or several behind one address. */
export interface FleetStore extends Pick<RedisProcess, 'url' | 'command' | 'close'> {
  /** The port of the only Redis. Undefined for a store of several Redis. */
  readonly port?: number | undefined;
}

export interface MemberOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Puts a proxy between the server and Redis. */
  readonly redisProxy?: boolean;
  /** Puts a proxy between clients and the server. `address` is then the proxy's address. */
  readonly clientProxy?: boolean;
  /** The programs of the server: each start runs the next of them. Default: the built server of this tree. */
  readonly programs?: readonly string[];
}

/** Each start waits 10 s for Redis. */
const MOST_STARTS = 6;

/** One server process of a fleet, with the proxies to its store and its clients. */
export class Member {
  /** True if the test ends the server by force, so that the end does not count as a crash. */
  isForced = false;

  private constructor(
    private running: ServerProcess,
    private readonly startAgain: (listen: string) => Promise<ServerProcess>,
    private readonly proxies: { readonly redis: TcpProxy | undefined; readonly client: TcpProxy | undefined },
  ) {}

  static async start(store: Pick<FleetStore, 'port' | 'url'>, options: MemberOptions = {}): Promise<Member> {
    const { redisProxy = false, clientProxy = false } = options;
    const toRedis = redisProxy ? await proxyTo(store) : undefined;
    const redisUrl = toRedis === undefined ? store.url : serverUrl(toRedis.address);
    const { env, programs = [] } = options;
    let starts = 0;
    const start = (more: Partial<ServerProcessOptions>) => {
      const program = programs[starts++ % programs.length];
      return ServerProcess.start({ redisUrl, ...(program !== undefined && { program }), ...more });
    };
    const server = await start({ ...(env && { env }) });
    const targetPort = Number(server.listen.split(':').at(-1));
    const toServer = clientProxy ? await TcpProxy.open({ targetPort, protocol: 'tcp' }) : undefined;
    // The assertion that the store is new is valid only for the first start, because later the store has leases.
    const againEnv = { ...env, HOLDFAST_STORE_IS_NEW: '0' };
    const startAgain = (listen: string) => start({ env: againEnv, listen });
    return new Member(server, startAgain, { redis: toRedis, client: toServer });
  }

  get server(): ServerProcess {
    return this.running;
  }

  /**
   * Replaces an ended process by a new process with the same addresses and proxies. Starts the process again if no Redis
   * answers at the start, as a process manager does, because a failover may take longer than a start.
   */
  async restart(): Promise<void> {
    const { listen } = this.running;
    await this.running.close();
    for (let left = MOST_STARTS - 1; ; left -= 1) {
      try {
        this.running = await this.startAgain(listen);
        return;
      } catch (error) {
        if (left === 0 || !String(error).includes('Redis cannot be used')) throw error;
      }
    }
  }

  /** The address for clients. */
  get address(): string {
    return this.proxies.client?.address ?? this.server.listen;
  }

  get redisProxy(): TcpProxy {
    if (this.proxies.redis === undefined) throw new Error('this member has no proxy to Redis');
    return this.proxies.redis;
  }

  get clientProxy(): TcpProxy {
    if (this.proxies.client === undefined) throw new Error('this member has no proxy for its clients');
    return this.proxies.client;
  }

  /** The number of open sockets of the process, listeners included. Undefined except on Linux. */
  async sockets(): Promise<number | undefined> {
    if (process.platform !== 'linux') return undefined;
    const folder = `/proc/${this.server.pid}/fd`;
    const targets = await Promise.all(
      // A file may be closed between the two calls.
      (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')),
    );
    return targets.filter((target) => target.startsWith('socket:')).length;
  }

  async close(): Promise<void> {
    await this.server.close();
    await Promise.all([this.proxies.redis?.close(), this.proxies.client?.close()]);
  }
}

async function proxyTo({ port, url }: Pick<FleetStore, 'port' | 'url'>): Promise<TcpProxy> {
  if (port === undefined) throw new Error(`a proxy needs a store of one Redis, not ${url}`);
  return TcpProxy.open({ targetPort: port, protocol: 'redis' });
}

export interface FleetOptions {
  readonly redis?: RedisProcessOptions;
  readonly members: readonly MemberOptions[];
}

/** A store, with server processes that use the store. */
export class Fleet<Store extends FleetStore = RedisProcess> {
  /** The most sockets of a member at one of its starts, because a server that starts during a fault opens some of them later. */
  private readonly socketsAtStart = new Map<Member, number>();

  private constructor(
    readonly redis: Store,
    readonly members: Member[],
  ) {}

  static async start({ redis: redisOptions = {}, members }: FleetOptions): Promise<Fleet> {
    const redis = await RedisProcess.start({ commandTimeoutMs: COMMAND_TIMEOUT_MS, ...redisOptions });
    return Fleet.over(redis, members, async () => {
      // A test drops the first reply of a script. Without this load, that reply is NOSCRIPT. Servers call no function before
      // they have loaded their library.
      const { leaseLibrary: _, ...texts } = scripts;
      for (const text of Object.values(texts)) await redis.command('SCRIPT', 'LOAD', text);
    });
  }

  /** Starts servers over a running store. The fleet closes the store at its end. */
  static async over<Store extends FleetStore>(
    store: Store,
    members: readonly MemberOptions[],
    prepare: () => Promise<void> = async () => undefined,
  ): Promise<Fleet<Store>> {
    const fleet = new Fleet(store, []);
    try {
      await prepare();
      for (const member of await Promise.all(members.map((options) => Member.start(store, options)))) {
        await fleet.take(member);
      }
    } catch (error) {
      await fleet.end();
      throw error;
    }
    return fleet;
  }

  async add(options: MemberOptions = {}): Promise<Member> {
    return this.take(await Member.start(this.redis, options));
  }

  member(index: number): Member {
    const member = this.members[index];
    if (member === undefined) throw new Error(`this fleet has no member ${index}`);
    return member;
  }

  /** Restarts the server as `Member.restart` does, and counts the sockets of the new process. */
  async restart(member: Member): Promise<void> {
    await member.restart();
    await this.countSockets(member);
  }

  /** Ends all processes. Throws if a server has crashed, has logged a defect, or has left a socket open. */
  async close(): Promise<void> {
    try {
      for (const member of this.members) await this.expectClean(member);
    } finally {
      await this.end();
    }
  }

  private async take(member: Member): Promise<Member> {
    this.members.push(member);
    await this.countSockets(member);
    return member;
  }

  private async countSockets(member: Member): Promise<void> {
    const count = await member.sockets();
    if (count !== undefined)
      this.socketsAtStart.set(member, Math.max(this.socketsAtStart.get(member) ?? 0, count));
  }

  private async expectClean(member: Member): Promise<void> {
    const { server } = member;
    if (!member.isForced) server.assertNoUnhandled();
    const defects = server.logs.filter(({ level }) => level === 'error' || level === 'fatal');
    if (defects.length > 0) throw new Error(`a server logged ${JSON.stringify(defects)}`);
    const most = this.socketsAtStart.get(member);
    if (server.exit !== undefined || most === undefined) return;
    let count: number | undefined;
    const noneLeft = async (): Promise<boolean> => ((count = await member.sockets()) ?? 0) <= most;
    await eventually(`the server to have no more than ${most} sockets`, noneLeft, {
      timeoutMs: SOCKETS_TIMEOUT_MS,
    }).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}; it has ${count}`, { cause: error });
    });
  }

  private async end(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
    await this.redis.close();
  }
}
