import type { ChainableCommander, Redis } from 'ioredis';
import { keys, listingText, saleText, type Listing } from './market';
import type { BeforeWrite, Outcome, Trade } from './trade';

/**
 * Optimistic: look, and write only if nothing has changed meanwhile, else look again. WATCH is a matter of the
 * connection, so each trader needs one of its own.
 *
 * It watches the whole market, since a member of a sorted set cannot be watched: whoever lists or buys anything at
 * all makes everybody else begin again.
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
    return this.repeated(async () => {
      // Sent at once, one behind the other: the shorter the look, the better the chances.
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
    return this.repeated(async () => {
      const [, isThere] = await Promise.all([
        this.redis.watch(inventory),
        this.redis.sismember(inventory, listing.item),
      ]);
      if (isThere === 0) return 'gone';
      return this.redis.multi().srem(inventory, listing.item).zadd(keys.market, price, listingText(listing));
    });
  }

  /** @param look answers what is to be written, or why nothing is */
  private async repeated(look: () => Promise<Outcome | ChainableCommander>): Promise<Outcome> {
    const giveUpAt = performance.now() + this.waitMs;
    while (performance.now() < giveUpAt) {
      const write = await look();
      if (typeof write === 'string') {
        await this.redis.unwatch();
        return write;
      }
      const results = await write.exec();
      for (const [error] of results ?? []) if (error) throw error;
      if (results) return 'done';
      // What was watched has changed.
      this.retries += 1;
    }
    return 'contended';
  }
}
