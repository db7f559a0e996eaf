import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { auditOf, type Audit } from '../../examples/marketplace/audit';
import { FencedMarket } from '../../examples/marketplace/fenced-market';
import { LockedTrade, type LockNaming, type LockSource } from '../../examples/marketplace/locked-trade';
import { Locks } from '../../examples/marketplace/locks';
import {
  closeMarket,
  connectMarket,
  keys,
  openMarket,
  type Closing,
  type Listing,
  type Opening,
} from '../../examples/marketplace/market';
import type { BeforeWrite } from '../../examples/marketplace/trade';
import { WatchedTrade } from '../../examples/marketplace/watched-trade';
import { Servers } from '../../examples/worker-typescript/servers';
import { InProcessServer } from '../end-to-end/in-process-server';
import { RedisProcess } from '../support/processes/redis-process';

export const PRICE = 100;

export interface TradeOptions {
  readonly beforeWrite?: BeforeWrite;
  /** Default: longer than any test. */
  readonly ttlMs?: number;
  readonly waitMs?: number;
}

const go: BeforeWrite = () => Promise.resolve();

/** A Holdfast server, a Redis for its locks and another one for the markets of all towns. */
export class Country {
  private readonly towns: Town[] = [];

  private constructor(
    private readonly holdfastRedis: RedisProcess,
    private readonly marketRedis: RedisProcess,
    readonly server: InProcessServer,
    private readonly servers: Servers,
  ) {}

  static async open(): Promise<Country> {
    const [holdfastRedis, marketRedis] = await Promise.all([RedisProcess.start(), RedisProcess.start()]);
    const server = await InProcessServer.start(holdfastRedis.url);
    return new Country(holdfastRedis, marketRedis, server, new Servers([server.address]));
  }

  /** A market of its own: users with their funds, each with one item on offer for 100. */
  async town(funds: Readonly<Record<string, number>>): Promise<Town> {
    const users = Object.keys(funds);
    const town = new Town(this.marketRedis.url, this.servers, {
      funds: new Map(Object.entries(funds)),
      owners: new Map(users.map((user) => [`item-${user}`, user])),
      onOffer: new Map(users.map((user) => [`item-${user}`, PRICE])),
    });
    this.towns.push(town);
    await town.open();
    return town;
  }

  async close(): Promise<void> {
    for (const town of this.towns) town.leave();
    this.servers.close();
    await this.server.close();
    await Promise.all([this.holdfastRedis.close(), this.marketRedis.close()]);
  }
}

export class Town {
  private readonly connections: Redis[] = [];
  private readonly id = randomUUID();

  constructor(
    private readonly redisUrl: string,
    private readonly servers: Servers,
    private readonly opening: Opening,
  ) {}

  async open(): Promise<void> {
    await openMarket(await this.connect(), this.opening);
  }

  get fenced(): FencedMarket {
    return new FencedMarket(this.redis);
  }

  /** The name of a lock, in this town alone. */
  lock(naming: LockNaming, item: string): string {
    return `${this.id}/${naming(item)}`;
  }

  locks({ ttlMs = 60_000, waitMs = 10_000 }: TradeOptions = {}): Locks {
    return new Locks(this.servers, { holderId: 'test', ttlMs, waitMs });
  }

  locked(
    naming: LockNaming,
    options: TradeOptions = {},
    locks: LockSource = this.locks(options),
  ): LockedTrade {
    const nameFor: LockNaming = (item) => this.lock(naming, item);
    return new LockedTrade(this.fenced, locks, nameFor, options.beforeWrite ?? go);
  }

  async watched({ beforeWrite = go, waitMs = 10_000 }: TradeOptions = {}): Promise<WatchedTrade> {
    return new WatchedTrade(await this.connect(), waitMs, beforeWrite);
  }

  /** Changes something about a user that has nothing to do with money. */
  async visit(user: string): Promise<void> {
    await this.redis.hincrby(keys.user(user), 'visits', 1);
  }

  closing(): Promise<Closing> {
    return closeMarket(this.redis, [...this.opening.funds.keys()]);
  }

  /** @param told how many purchases went well, as the buyers know */
  async audit(told: number): Promise<Audit> {
    return auditOf(this.opening, await this.closing(), told);
  }

  leave(): void {
    for (const redis of this.connections) redis.disconnect();
  }

  private get redis(): Redis {
    return this.connections[0]!;
  }

  private async connect(): Promise<Redis> {
    const redis = await connectMarket(this.redisUrl, `${this.id}:`);
    this.connections.push(redis);
    return redis;
  }
}

/** What a seller of a town has on offer. */
export const offered = (seller: string): Listing => ({ item: `item-${seller}`, seller });

/** Lets nobody through before as many are there. */
export function gate(count: number): BeforeWrite {
  let open: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return () => {
    count -= 1;
    if (count === 0) open();
    return opened;
  };
}
