import { Redis } from 'ioredis';

/** An item on offer. In the sorted set `market:` the member is "item.seller" and the score is the price. */
export interface Listing {
  readonly item: string;
  readonly seller: string;
}

export interface Sale extends Listing {
  readonly buyer: string;
  readonly price: number;
}

/** The state before trading. Money is counted in whole cents, because rounding would create or lose money. */
export interface Opening {
  readonly funds: ReadonlyMap<string, number>;
  /** The owner of each item. */
  readonly owners: ReadonlyMap<string, string>;
  /** The price of each item that is on offer at first. The other items are in their owners' inventories. */
  readonly onOffer: ReadonlyMap<string, number>;
}

/** The state after trading. */
export interface Closing {
  readonly funds: ReadonlyMap<string, number>;
  readonly inventories: ReadonlyMap<string, readonly string[]>;
  readonly listings: readonly Listing[];
  readonly sales: readonly Sale[];
}

/** The keys of docs/design/chapter.md, and the additional keys `fences:` and `sales:`. */
export const keys = {
  /** Hash: `funds`. */
  user: (id: string): string => `users:${id}`,
  /** Set of items. */
  inventory: (id: string): string => `inventory:${id}`,
  /** Sorted set: "item.seller" → price. */
  market: 'market:',
  /** Hash: lock → the highest fencing token that a holder of the lock has used. */
  fences: 'fences:',
  /** List of "item.seller.buyer.price", for the audit. */
  sales: 'sales:',
} as const;

/**
 * Opens a connection to the Redis of the market. If an answer is lost, the money may have moved already. So ioredis
 * must not send the command again, and the caller gets the error.
 */
export async function connectMarket(url: string, prefix: string): Promise<Redis> {
  const redis = new Redis(url, {
    keyPrefix: prefix,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason = 'no reason is known';
  redis.on('error', (error) => (reason = error.message));
  await redis.connect().catch(() => {
    throw new Error(`the market's Redis cannot be reached: ${reason}`);
  });
  return redis;
}

export function listingText({ item, seller }: Listing): string {
  return `${item}.${seller}`;
}

export function saleText({ item, seller, buyer, price }: Sale): string {
  return `${item}.${seller}.${buyer}.${price}`;
}

function parseListing(text: string): Listing {
  const [item = '', seller = ''] = text.split('.');
  return { item, seller };
}

function parseSale(text: string): Sale {
  const [, , buyer = '', price] = text.split('.');
  return { ...parseListing(text), buyer, price: Number(price) };
}

export async function openMarket(redis: Redis, { funds, owners, onOffer }: Opening): Promise<void> {
  const write = redis.pipeline();
  for (const [user, cents] of funds) write.hset(keys.user(user), 'funds', cents);
  for (const [item, seller] of owners) {
    const price = onOffer.get(item);
    if (price === undefined) write.sadd(keys.inventory(seller), item);
    else write.zadd(keys.market, price, listingText({ item, seller }));
  }
  for (const [error] of (await write.exec()) ?? []) if (error) throw error;
}

/** Returns the listing at a rank in the order of prices. Rank 0 is the cheapest. */
export async function listingAt(redis: Redis, rank: number): Promise<Listing | undefined> {
  const [member] = await redis.zrange(keys.market, rank, String(rank));
  return member === undefined ? undefined : parseListing(member);
}

export async function closeMarket(redis: Redis, users: readonly string[]): Promise<Closing> {
  const funds = new Map<string, number>();
  const inventories = new Map<string, string[]>();
  for (const user of users) {
    funds.set(user, Number(await redis.hget(keys.user(user), 'funds')));
    inventories.set(user, await redis.smembers(keys.inventory(user)));
  }
  return {
    funds,
    inventories,
    listings: (await redis.zrange(keys.market, 0, '-1')).map(parseListing),
    sales: (await redis.lrange(keys.sales, 0, -1)).map(parseSale),
  };
}

/** Removes every key of the market. */
export async function clearMarket(redis: Redis, users: readonly string[]): Promise<void> {
  const userKeys = users.flatMap((user) => [keys.user(user), keys.inventory(user)]);
  await redis.unlink(...userKeys, keys.market, keys.fences, keys.sales);
}
