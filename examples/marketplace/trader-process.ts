/** The program of one process of buyers and sellers. `trader-group.ts` starts the process and opens the market. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Holdfast } from '@holdfast/client';
import type { Redis } from 'ioredis';
import { FencedMarket } from './fenced-market';
import { coarse, fine, LockedTrade } from './locked-trade';
import { connectMarket } from './market';
import type { Assignment, FromTraders, ToTraders } from './messages';
import { population } from './population';
import { randomFrom } from './random';
import { emptyTally, type Tally } from './tally';
import type { BeforeWrite, Trade } from './trade';
import { listItems, buyItems, type MarketSession, type Trader } from './traders';
import { WatchedTrade } from './watched-trade';

const noPause: BeforeWrite = () => Promise.resolve();

class Traders {
  /** Undefined with the strategy `watch`. */
  private client: Holdfast | undefined;
  private readonly connections: Redis[] = [];
  private readonly tally = emptyTally();
  private isClosed = false;

  constructor(private readonly assignment: Assignment) {}

  /** Opens all connections before the market opens, so that the times measure purchases only. */
  async connect(): Promise<void> {
    const { buyers, sellers, redisUrl, prefix, strategy, servers } = this.assignment;
    if (strategy !== 'watch') {
      this.client = await connect(servers, { holderId: `marketplace, pid ${process.pid}` });
    }
    for (let count = 0; count < buyers + sellers; count++) {
      this.connections.push(await connectMarket(redisUrl, prefix));
    }
  }

  async trade(): Promise<Tally> {
    const { seconds, items, buyers, sellers } = this.assignment;
    const people = population(buyers, sellers);
    const openedAt = performance.now();
    const closesAt = openedAt + seconds * 1000;
    const session: MarketSession = { items, isClosed: () => this.isClosed || performance.now() >= closesAt };
    await Promise.all([
      ...people.buyers.map((buyer, index) => this.runBuyer(buyer, index, session)),
      ...people.sellers.map((seller, index) => this.runSeller(seller, buyers + index, session)),
    ]);
    this.tally.openMs = Math.min(performance.now(), closesAt) - openedAt;
    return this.tally;
  }

  close(): void {
    this.isClosed = true;
  }

  async disconnect(): Promise<void> {
    for (const redis of this.connections) redis.disconnect();
    await this.client?.close();
  }

  private async runBuyer(name: string, index: number, session: MarketSession): Promise<void> {
    const { choice } = this.assignment;
    const random = this.random(index);
    const trader = this.trader(name, index, this.pausing(random));
    await buyItems(trader, session, () => Math.floor(random() * choice), this.tally);
    this.tally.retries += trader.trade.retries;
    for (const time of trader.trade.lockTimes) this.tally.lockTimes.push(time);
  }

  private async runSeller(name: string, index: number, session: MarketSession): Promise<void> {
    await listItems(this.trader(name, index, noPause), session, this.assignment.seed, this.tally);
  }

  private trader(name: string, index: number, beforeWrite: BeforeWrite): Trader {
    const redis = this.connections[index];
    if (redis === undefined) throw new Error(`there is no connection ${index}`);
    return { name, redis, trade: this.tradeOf(redis, name, beforeWrite) };
  }

  private tradeOf(redis: Redis, trader: string, beforeWrite: BeforeWrite): Trade {
    const { strategy, ttlMs, waitMs } = this.assignment;
    if (this.client === undefined) return new WatchedTrade(redis, waitMs, beforeWrite);
    // The client renews the lease of a trader that pauses, so `maxHold` ends the lease.
    const options = { ttl: ttlMs, wait: waitMs, maxHold: ttlMs, metadata: { trader } };
    const lockFor = strategy === 'coarse' ? coarse : fine;
    const locking = { client: this.client, options, lockFor };
    return new LockedTrade(new FencedMarket(redis), locking, beforeWrite);
  }

  /** Each trader has its own sequence, so that its choices do not depend on the other traders. */
  private random(index: number): () => number {
    const { seed, process: number } = this.assignment;
    return randomFrom(seed * 1_000_003 + number * 1000 + index);
  }

  /** Pauses like a process after SIGSTOP. The trader does not notice that the lease expires during the pause. */
  private pausing(random: () => number): BeforeWrite {
    const { pauses, ttlMs } = this.assignment;
    return async () => {
      if (random() >= pauses) return;
      this.tally.pauses += 1;
      await sleep(2 * ttlMs);
    };
  }
}

let traders: Traders | undefined;

async function handle(message: ToTraders): Promise<void> {
  switch (message.kind) {
    case 'connect':
      traders = new Traders(message.assignment);
      await traders.connect();
      return send({ kind: 'ready' });
    case 'open': {
      const tally = await traders?.trade();
      await traders?.disconnect();
      return tally && send({ kind: 'done', tally });
    }
    case 'close':
      return traders?.close();
  }
}

function send(message: FromTraders): void {
  // The callback ignores the error of a parent that has just ended. The 'disconnect' event then ends this process.
  process.send?.(message, undefined, undefined, () => undefined);
}

process.on('message', (message: ToTraders) => {
  handle(message).catch((error: unknown) => {
    send({ kind: 'failed', text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
});
// Ctrl-C reaches every process of the terminal. Only the parent process reacts, and closes the market.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit());
