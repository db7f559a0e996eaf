import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { connect, type Holdfast, type LockOptions } from '@holdfast/client';
import { auditOf, type Audit } from '../../examples/marketplace/audit';
import { FencedMarket } from '../../examples/marketplace/fenced-market';
import { LockedTrade, type LockNaming, type Locking } from '../../examples/marketplace/locked-trade';
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
import { InProcessServer } from '../end-to-end/in-process-server';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';

export const PRICE = 100;

export interface TradeOptions {
  readonly beforeWrite?: BeforeWrite;
  /** Default: 60 s. No test takes that long. */
  readonly ttlMs?: number;
  readonly waitMs?: number;
}

const noPause: BeforeWrite = () => Promise.resolve();

/** A Holdfast server, a Redis for its locks, and another Redis for all markets of a test file. */
export class MarketStage {
  private readonly markets: TestMarket[] = [];

  private constructor(
    private readonly holdfastRedis: RedisProcess,
    private readonly marketRedis: RedisProcess,
    readonly server: InProcessServer,
    private readonly client: Holdfast,
  ) {}

  static async open(): Promise<MarketStage> {
    const [holdfastRedis, marketRedis] = await Promise.all([
      RedisProcess.start(),
      RedisProcess.start({ inMemory: true }),
    ]);
    const server = await InProcessServer.start(holdfastRedis.url);
    return new MarketStage(holdfastRedis, marketRedis, server, await connect(server.address));
  }

  /** Opens a separate market of users with the given funds. Each user has one item on offer for 100. */
  async market(funds: Readonly<Record<string, number>>): Promise<TestMarket> {
    const users = Object.keys(funds);
    const market = new TestMarket(this.marketRedis.adminUrl, this.client, {
      funds: new Map(Object.entries(funds)),
      owners: new Map(users.map((user) => [`item-${user}`, user])),
      onOffer: new Map(users.map((user) => [`item-${user}`, PRICE])),
    });
    this.markets.push(market);
    await market.open();
    return market;
  }

  close(): Promise<void> {
    for (const market of this.markets) market.disconnect();
    return closeAll(
      () => this.client.close(),
      () => this.server.close(),
      () => this.holdfastRedis.close(),
      () => this.marketRedis.close(),
    );
  }
}

export class TestMarket {
  private readonly connections: Redis[] = [];
  /** The prefix of the keys and the lock names of this market. */
  private readonly id = randomUUID();

  constructor(
    private readonly redisUrl: string,
    readonly client: Holdfast,
    private readonly opening: Opening,
  ) {}

  async open(): Promise<void> {
    await openMarket(await this.connect(), this.opening);
  }

  get fenced(): FencedMarket {
    return new FencedMarket(this.redis);
  }

  /** The name of a lock of this market. Other markets use other names. */
  lock(naming: LockNaming, item: string): string {
    return `${this.id}/${naming(item)}`;
  }

  lockOptions({ ttlMs = 60_000, waitMs = 10_000 }: TradeOptions = {}): LockOptions {
    return { ttl: ttlMs, wait: waitMs, maxHold: ttlMs };
  }

  locked(naming: LockNaming, given: TradeOptions = {}, client: Locking['client'] = this.client): LockedTrade {
    const lockFor: LockNaming = (item) => this.lock(naming, item);
    const locking = { client, options: this.lockOptions(given), lockFor };
    return new LockedTrade(this.fenced, locking, given.beforeWrite ?? noPause);
  }

  async watched({ beforeWrite = noPause, waitMs = 10_000 }: TradeOptions = {}): Promise<WatchedTrade> {
    return new WatchedTrade(await this.connect(), waitMs, beforeWrite);
  }

  /** Changes a field of a user, but not the funds. */
  async visit(user: string): Promise<void> {
    await this.redis.hincrby(keys.user(user), 'visits', 1);
  }

  closing(): Promise<Closing> {
    return closeMarket(this.redis, [...this.opening.funds.keys()]);
  }

  /** @param confirmed the number of purchases that were confirmed to their buyers */
  async audit(confirmed: number): Promise<Audit> {
    return auditOf(this.opening, await this.closing(), confirmed);
  }

  disconnect(): void {
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

export const listingOf = (seller: string): Listing => ({ item: `item-${seller}`, seller });

/** Returns a function that waits until `count` callers have called the function. */
export function gate(count: number): BeforeWrite {
  let open: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return () => {
    count -= 1;
    if (count === 0) open();
    return opened;
  };
}
