import { Redis } from 'ioredis';

/** An item on offer: in `market:` as "item.seller", with its price as the score. */
export interface Listing {
  readonly item: string;
  readonly seller: string;
}

export interface Sale extends Listing {
  readonly buyer: string;
  readonly price: number;
}

/** Who owns what. Money is counted in whole cents: a fraction that is rounded is money made or lost. */
export interface Opening {
  readonly funds: ReadonlyMap<string, number>;
  /** For each item, whose it is. */
  readonly owners: ReadonlyMap<string, string>;
  /** Prices of those items that are on offer from the beginning; the others are in their owners' inventories. */
  readonly onOffer: ReadonlyMap<string, number>;
}

/** Everything that the market's Redis holds once all are gone home. */
export interface Closing {
  readonly funds: ReadonlyMap<string, number>;
  readonly inventories: ReadonlyMap<string, readonly string[]>;
  readonly listings: readonly Listing[];
  readonly sales: readonly Sale[];
}

/** The keys, as in the chapter; and two more, which are written in the same step as the rest. */
export const keys = {
  /** Hash: `funds`. */
  user: (id: string): string => `users:${id}`,
  /** Set of items. */
  inventory: (id: string): string => `inventory:${id}`,
  /** Sorted set: "item.seller" → price. */
  market: 'market:',
  /** Hash: lock → the highest fencing token that was seen with it. */
  fences: 'fences:',
  /** List of "item.seller.buyer.price", for the audit. */
  sales: 'sales:',
} as const;

/**
 * A connection to the Redis of the market. Where an answer is lost nobody knows whether the money has moved: ioredis
 * must not send the command again, as it does by default, so the error comes to us.
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
  let trouble = 'no reason is known';
  // A command that fails later says so itself.
  redis.on('error', (error) => (trouble = error.message));
  await redis.connect().catch(() => {
    throw new Error(`the market's Redis cannot be reached: ${trouble}`);
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

/** Puts everything where it is in the morning. */
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

/** The one at a place in the order of prices, from 0; undefined where there are not so many. */
export async function listingAt(redis: Redis, place: number): Promise<Listing | undefined> {
  const [member] = await redis.zrange(keys.market, place, String(place));
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

/** Leaves nothing in a Redis that is somebody's. */
export async function clearMarket(redis: Redis, users: readonly string[]): Promise<void> {
  const ofUsers = users.flatMap((user) => [keys.user(user), keys.inventory(user)]);
  await redis.unlink(...ofUsers, keys.market, keys.fences, keys.sales);
}
