import { readdir, readlink } from 'node:fs/promises';
import * as scripts from '../../generated/redis/scripts';
import { eventually } from '../support/eventually';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { RedisProcess, type RedisProcessOptions } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';

/** What a fleet's servers keep their state in: one Redis, or several behind one address. */
export interface FleetStore extends Pick<RedisProcess, 'url' | 'command' | 'close'> {
  /** Where a proxy can lead to; undefined where there is no one such place. */
  readonly port?: number | undefined;
}

export interface MemberOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Puts a proxy between the server and Redis. */
  readonly redisProxy?: boolean;
  /** Puts a proxy between clients and the server; `address` is the proxy's then. */
  readonly clientProxy?: boolean;
  /** The server's program; default: the built one of this tree. */
  readonly program?: string;
}

/** One server of a fleet, a process of its own, with the proxies on its ways. */
export class Member {
  /** The test forces its server to end, which is no crash. */
  isForced = false;

  private constructor(
    private running: ServerProcess,
    private readonly startAgain: (listen: string) => Promise<ServerProcess>,
    private readonly proxies: { readonly redis: TcpProxy | undefined; readonly client: TcpProxy | undefined },
  ) {}

  static async start(store: Pick<FleetStore, 'port' | 'url'>, options: MemberOptions = {}): Promise<Member> {
    const { redisProxy = false, clientProxy = false } = options;
    const toRedis = redisProxy ? await proxyTo(store) : undefined;
    const redisUrl = toRedis === undefined ? store.url : `redis://${toRedis.address}`;
    const { env, program } = options;
    const settings = { redisUrl, ...(env && { env }), ...(program !== undefined && { program }) };
    const server = await ServerProcess.start(settings);
    const targetPort = Number(server.listen.split(':').at(-1));
    const toServer = clientProxy ? await TcpProxy.open({ targetPort, protocol: 'tcp' }) : undefined;
    // The operator's word was for the first start: since then there have been leases.
    const againEnv = { ...env, HOLDFAST_STORE_IS_NEW: '0' };
    const startAgain = (listen: string) => ServerProcess.start({ ...settings, env: againEnv, listen });
    return new Member(server, startAgain, { redis: toRedis, client: toServer });
  }

  get server(): ServerProcess {
    return this.running;
  }

  /** Another process in the place of one that has ended: same addresses, same proxies. */
  async restart(): Promise<void> {
    const { listen } = this.running;
    await this.running.close();
    this.running = await this.startAgain(listen);
  }

  /** Where clients connect. */
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

  /** Sockets that its process has open: connections and what it listens on. Undefined where nobody can tell. */
  async sockets(): Promise<number | undefined> {
    if (process.platform !== 'linux') return undefined;
    const folder = `/proc/${this.server.pid}/fd`;
    const targets = await Promise.all(
      // One may be closed between the two calls.
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
  if (port === undefined) throw new Error(`a proxy leads to one Redis, and ${url} is none`);
  return TcpProxy.open({ targetPort: port, protocol: 'redis' });
}

export interface FleetOptions {
  readonly redis?: RedisProcessOptions;
  readonly members: readonly MemberOptions[];
}

/** A real Redis, or several, and real server processes over it. */
export class Fleet<Store extends FleetStore = RedisProcess> {
  private readonly socketsAtStart = new Map<Member, number | undefined>();

  private constructor(
    readonly redis: Store,
    readonly members: Member[],
  ) {}

  static async start({ redis: redisOptions = {}, members }: FleetOptions): Promise<Fleet> {
    const redis = await RedisProcess.start(redisOptions);
    return Fleet.over(redis, members, async () => {
      // Else the first reply of each script says that Redis does not have it, and a test would drop that.
      for (const text of Object.values(scripts)) await redis.command('SCRIPT', 'LOAD', text);
    });
  }

  /** Over a store that has been started, which the fleet closes with itself. */
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

  /** As `Member.restart`; what the one before left open says nothing about this one. */
  async restart(member: Member): Promise<void> {
    await member.restart();
    this.socketsAtStart.set(member, await member.sockets());
  }

  /** Ends all; fails if a server has left something open, has crashed, or has logged a defect. */
  async close(): Promise<void> {
    try {
      for (const member of this.members) await this.expectClean(member);
    } finally {
      await this.end();
    }
  }

  private async take(member: Member): Promise<Member> {
    this.members.push(member);
    this.socketsAtStart.set(member, await member.sockets());
    return member;
  }

  private async expectClean(member: Member): Promise<void> {
    const { server } = member;
    if (!member.isForced) server.assertNoUnhandled();
    const defects = server.logs.filter(({ level }) => level === 'error' || level === 'fatal');
    if (defects.length > 0) throw new Error(`a server logged ${JSON.stringify(defects)}`);
    const before = this.socketsAtStart.get(member);
    if (server.exit !== undefined || before === undefined) return;
    const noneLeft = async (): Promise<boolean> => ((await member.sockets()) ?? 0) <= before;
    await eventually(`the server to close its sockets, of which it had ${before}`, noneLeft);
  }

  private async end(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
    await this.redis.close();
  }
}
