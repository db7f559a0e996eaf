/** One of several processes of buyers and sellers; `round.ts` starts it and says when the market opens. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { Servers } from '../worker-typescript/servers';
import { FencedMarket } from './fenced-market';
import { coarse, fine, LockedTrade } from './locked-trade';
import { Locks } from './locks';
import { connectMarket } from './market';
import type { Assignment, FromTraders, ToTraders } from './messages';
import { population } from './population';
import { randomFrom } from './random';
import { emptyTally, type Tally } from './tally';
import type { BeforeWrite, Trade } from './trade';
import { offer, shop, type Hours, type Trader } from './traders';
import { WatchedTrade } from './watched-trade';

const never: BeforeWrite = () => Promise.resolve();

class Traders {
  private readonly servers: Servers;
  private readonly connections: Redis[] = [];
  private readonly tally = emptyTally();
  private closed = false;

  constructor(private readonly assignment: Assignment) {
    this.servers = new Servers(assignment.servers);
  }

  /** Opens all connections before the market does: what is measured are purchases. */
  async come(): Promise<void> {
    const { buyers, sellers, redisUrl, prefix, way } = this.assignment;
    if (way !== 'watch') await this.servers.connect();
    for (let count = 0; count < buyers + sellers; count++) {
      this.connections.push(await connectMarket(redisUrl, prefix));
    }
  }

  async trade(): Promise<Tally> {
    const { seconds, items, buyers, sellers } = this.assignment;
    const people = population(buyers, sellers);
    const openedAt = performance.now();
    const closesAt = openedAt + seconds * 1000;
    const hours: Hours = { items, closed: () => this.closed || performance.now() >= closesAt };
    await Promise.all([
      ...people.buyers.map((buyer, index) => this.shopFor(buyer, index, hours)),
      ...people.sellers.map((seller, index) => this.offerFor(seller, buyers + index, hours)),
    ]);
    this.tally.openMs = Math.min(performance.now(), closesAt) - openedAt;
    return this.tally;
  }

  close(): void {
    this.closed = true;
  }

  leave(): void {
    for (const redis of this.connections) redis.disconnect();
    this.servers.close();
  }

  private async shopFor(name: string, index: number, hours: Hours): Promise<void> {
    const { choice } = this.assignment;
    const random = this.random(index);
    const trader = this.trader(name, index, this.pausing(random));
    await shop(trader, hours, () => Math.floor(random() * choice), this.tally);
    this.tally.retries += trader.trade.retries;
    for (const time of trader.trade.lockTimes) this.tally.lockTimes.push(time);
  }

  private async offerFor(name: string, index: number, hours: Hours): Promise<void> {
    await offer(this.trader(name, index, never), hours, this.assignment.seed, this.tally);
  }

  private trader(name: string, index: number, beforeWrite: BeforeWrite): Trader {
    const redis = this.connections[index];
    if (redis === undefined) throw new Error(`there is no connection ${index}`);
    return { name, redis, trade: this.tradeOf(redis, `${name}, pid ${process.pid}`, beforeWrite) };
  }

  private tradeOf(redis: Redis, holderId: string, beforeWrite: BeforeWrite): Trade {
    const { way, ttlMs, waitMs } = this.assignment;
    if (way === 'watch') return new WatchedTrade(redis, waitMs, beforeWrite);
    const locks = new Locks(this.servers, { holderId, ttlMs, waitMs });
    return new LockedTrade(new FencedMarket(redis), locks, way === 'coarse' ? coarse : fine, beforeWrite);
  }

  /** Each trader's own, so that who meets whom does not change what it wants. */
  private random(index: number): () => number {
    const { seed, process: number } = this.assignment;
    return randomFrom(seed * 1_000_003 + number * 1000 + index);
  }

  /** As if the process were stopped there: nothing notices that the lease ends meanwhile. */
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

async function obey(message: ToTraders): Promise<void> {
  switch (message.kind) {
    case 'come':
      traders = new Traders(message.assignment);
      await traders.come();
      return tell({ kind: 'here' });
    case 'open': {
      const tally = await traders?.trade();
      traders?.leave();
      return tally && tell({ kind: 'done', tally });
    }
    case 'close':
      return traders?.close();
  }
}

function tell(message: FromTraders): void {
  // The callback takes the error of a parent that has just gone: 'disconnect' deals with that.
  process.send?.(message, undefined, undefined, () => undefined);
}

process.on('message', (message: ToTraders) => {
  obey(message).catch((error: unknown) => {
    tell({ kind: 'failed', text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
});
// Ctrl-C reaches every process of the terminal; the parent hears it, and closes the market.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit());
