import type { Redis } from 'ioredis';
import { keys, listingText, saleText, type Listing, type Sale } from './market';

/** The lock of an operation and its fencing token. */
export interface Fence {
  readonly lock: string;
  readonly token: bigint;
}

/**
 * The first part of every script. The market stores the highest token of each lock, and refuses every operation with a
 * lower token. Lua numbers are exact for tokens, because tokens are below 2^53.
 *
 * A read also raises the stored token. Otherwise an item could be sold twice: alice reads and is paused, her lease
 * expires, bob gets the lock and reads, alice writes, bob writes.
 */
const FENCE = `
local fences, lock, token = KEYS[1], ARGV[1], ARGV[2]
if tonumber(token) < tonumber(redis.call('HGET', fences, lock) or '0') then return 'REFUSED' end
redis.call('HSET', fences, lock, token)
`;

/** KEYS fences, market, buyer. ARGV lock, token, listing. Returns the price and the buyer's funds. */
const READ_LISTING = `${FENCE}
return { redis.call('ZSCORE', KEYS[2], ARGV[3]), redis.call('HGET', KEYS[3], 'funds') }
`;

/**
 * KEYS fences, market, buyer, seller, inventory, sales. ARGV lock, token, listing, item, price, sale.
 *
 * The caller has read the listing under the lock, and the token proves that no later holder has used the lock. The
 * script checks the funds again, because the lock of an item does not protect the buyer's funds.
 */
const TRANSFER = `${FENCE}
local price = tonumber(ARGV[5])
if tonumber(redis.call('HGET', KEYS[3], 'funds')) < price then return 'POOR' end
redis.call('HINCRBY', KEYS[3], 'funds', -price)
redis.call('HINCRBY', KEYS[4], 'funds', price)
redis.call('ZREM', KEYS[2], ARGV[3])
redis.call('SADD', KEYS[5], ARGV[4])
redis.call('RPUSH', KEYS[6], ARGV[6])
return 'DONE'
`;

/** KEYS fences, inventory. ARGV lock, token, item. Returns 1 if the seller owns the item, otherwise 0. */
const OWNS_ITEM = `${FENCE}
return redis.call('SISMEMBER', KEYS[2], ARGV[3])
`;

/** KEYS fences, inventory, market. ARGV lock, token, item, listing, price. */
const LIST_ITEM = `${FENCE}
redis.call('SREM', KEYS[2], ARGV[3])
redis.call('ZADD', KEYS[3], ARGV[5], ARGV[4])
return 'DONE'
`;

/** The market as a protected store. Each step is one atomic script that checks the fencing token first. */
export class FencedMarket {
  constructor(private readonly redis: Redis) {}

  /** Returns the price and the buyer's funds. The price is undefined if the item is not on offer. */
  async readListing(
    fence: Fence,
    buyer: string,
    listing: Listing,
  ): Promise<'refused' | { price: number | undefined; funds: number }> {
    const found = await this.run(
      READ_LISTING,
      fence,
      [keys.market, keys.user(buyer)],
      [listingText(listing)],
    );
    if (found === 'REFUSED') return 'refused';
    const [price, funds] = found as [string | null, string];
    return { price: price === null ? undefined : Number(price), funds: Number(funds) };
  }

  async transfer(fence: Fence, sale: Sale): Promise<'done' | 'poor' | 'refused'> {
    const { buyer, seller, item, price } = sale;
    const answer = await this.run(
      TRANSFER,
      fence,
      [keys.market, keys.user(buyer), keys.user(seller), keys.inventory(buyer), keys.sales],
      [listingText(sale), item, price, saleText(sale)],
    );
    if (answer === 'POOR') return 'poor';
    return answer === 'REFUSED' ? 'refused' : 'done';
  }

  async ownsItem(fence: Fence, { item, seller }: Listing): Promise<'refused' | boolean> {
    const found = await this.run(OWNS_ITEM, fence, [keys.inventory(seller)], [item]);
    return found === 'REFUSED' ? 'refused' : found === 1;
  }

  async listItem(fence: Fence, listing: Listing, price: number): Promise<'done' | 'refused'> {
    const answer = await this.run(
      LIST_ITEM,
      fence,
      [keys.inventory(listing.seller), keys.market],
      [listing.item, listingText(listing), price],
    );
    return answer === 'REFUSED' ? 'refused' : 'done';
  }

  private run(
    script: string,
    { lock, token }: Fence,
    otherKeys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    return this.redis.eval(
      script,
      1 + otherKeys.length,
      keys.fences,
      ...otherKeys,
      lock,
      String(token),
      ...args,
    );
  }
}
