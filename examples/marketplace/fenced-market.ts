import type { Redis } from 'ioredis';
import { keys, listingText, saleText, type Listing, type Sale } from './market';

/** Under which lock something is done, and with which token. */
export interface Fence {
  readonly lock: string;
  readonly token: bigint;
}

/**
 * Goes before every script: the market knows the highest token that it has seen with a lock, and deals with nobody
 * who comes with a lower one.
 *
 * Looking raises it too, not only writing. Otherwise: alice looks and is stopped; her lease ends; bob gets the lock
 * and looks; alice goes on and writes, with the highest token that has written so far; bob writes.
 *
 * A Lua number holds a token exactly: tokens are below 2^53.
 */
const FENCE = `
local fences, lock, token = KEYS[1], ARGV[1], ARGV[2]
if tonumber(token) < tonumber(redis.call('HGET', fences, lock) or '0') then return 'REFUSED' end
redis.call('HSET', fences, lock, token)
`;

/** KEYS fences, market, buyer. ARGV lock, token, listing. Answers price and funds. */
const LOOK_AT_LISTING = `${FENCE}
return { redis.call('ZSCORE', KEYS[2], ARGV[3]), redis.call('HGET', KEYS[3], 'funds') }
`;

/**
 * KEYS fences, market, buyer, seller, inventory, sales. ARGV lock, token, listing, item, price, sale.
 *
 * That the listing is there was seen under the lock, and the token says that nobody has been there since. The
 * buyer's funds are not of this lock where it is the item's, so they are looked at once more.
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

/** KEYS fences, inventory. ARGV lock, token, item. Answers 1 or 0. */
const LOOK_AT_INVENTORY = `${FENCE}
return redis.call('SISMEMBER', KEYS[2], ARGV[3])
`;

/** KEYS fences, inventory, market. ARGV lock, token, item, listing, price. */
const PUT_UP = `${FENCE}
redis.call('SREM', KEYS[2], ARGV[3])
redis.call('ZADD', KEYS[3], ARGV[5], ARGV[4])
return 'DONE'
`;

/** The market as a protected store: each step is one atomic script, which checks the fencing token first. */
export class FencedMarket {
  constructor(private readonly redis: Redis) {}

  /** What it costs, undefined where it is not on offer, and what the buyer has. */
  async lookAtListing(
    fence: Fence,
    buyer: string,
    listing: Listing,
  ): Promise<'refused' | { price: number | undefined; funds: number }> {
    const found = await this.run(
      LOOK_AT_LISTING,
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

  async lookAtInventory(fence: Fence, { item, seller }: Listing): Promise<'refused' | boolean> {
    const found = await this.run(LOOK_AT_INVENTORY, fence, [keys.inventory(seller)], [item]);
    return found === 'REFUSED' ? 'refused' : found === 1;
  }

  async putUp(fence: Fence, listing: Listing, price: number): Promise<'done' | 'refused'> {
    const answer = await this.run(
      PUT_UP,
      fence,
      [keys.inventory(listing.seller), keys.market],
      [listing.item, listingText(listing), price],
    );
    return answer === 'REFUSED' ? 'refused' : 'done';
  }

  private run(
    script: string,
    { lock, token }: Fence,
    others: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    return this.redis.eval(script, 1 + others.length, keys.fences, ...others, lock, String(token), ...args);
  }
}
