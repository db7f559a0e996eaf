import type { ChainableCommander, Redis } from 'ioredis';
import { keys, listingText, saleText, type Listing } from './market';
import type { BeforeWrite, Outcome, Trade } from './trade';

/**
 * Optimistic locking: read, then write only if the watched keys have not changed, otherwise start again. Each trader
 * needs its own connection, because WATCH belongs to the connection.
 *
 * A trade watches the whole market, because a member of a sorted set cannot be watched. So every listing and every
 * purchase makes all other buyers start again.
 */
export class WatchedTrade implements Trade {
  readonly lockTimes: readonly number[] = [];
  retries = 0;

  constructor(
    private readonly redis: Redis,
    private readonly waitMs: number,
    private readonly beforeWrite: BeforeWrite,
  ) {}

  buy(buyer: string, listing: Listing): Promise<Outcome> {
    return this.withRetries(async () => {
      // The three commands are sent together, because a shorter time between read and write means fewer conflicts.
      const [, score, funds] = await Promise.all([
        this.redis.watch(keys.market, keys.user(buyer)),
        this.redis.zscore(keys.market, listingText(listing)),
        this.redis.hget(keys.user(buyer), 'funds'),
      ]);
      if (score === null) return 'gone';
      const price = Number(score);
      if (Number(funds) < price) return 'poor';
      await this.beforeWrite();
      return this.redis
        .multi()
        .hincrby(keys.user(buyer), 'funds', -price)
        .hincrby(keys.user(listing.seller), 'funds', price)
        .zrem(keys.market, listingText(listing))
        .sadd(keys.inventory(buyer), listing.item)
        .rpush(keys.sales, saleText({ ...listing, buyer, price }));
    });
  }

  list(listing: Listing, price: number): Promise<Outcome> {
    const inventory = keys.inventory(listing.seller);
    return this.withRetries(async () => {
      const [, isOwned] = await Promise.all([
        this.redis.watch(inventory),
        this.redis.sismember(inventory, listing.item),
      ]);
      if (isOwned === 0) return 'gone';
      return this.redis.multi().srem(inventory, listing.item).zadd(keys.market, price, listingText(listing));
    });
  }

  /** @param attempt returns the commands to write, or the outcome if there is nothing to write */
  private async withRetries(attempt: () => Promise<Outcome | ChainableCommander>): Promise<Outcome> {
    const giveUpAt = performance.now() + this.waitMs;
    while (performance.now() < giveUpAt) {
      const write = await attempt();
      if (typeof write === 'string') {
        await this.redis.unwatch();
        return write;
      }
      const results = await write.exec();
      for (const [error] of results ?? []) if (error) throw error;
      if (results) return 'done';
      // EXEC gave no results, because a watched key has changed.
      this.retries += 1;
    }
    return 'contended';
  }
}
