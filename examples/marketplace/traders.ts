import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { keys, listingAt, type Listing } from './market';
import { priceOf } from './population';
import type { Tally } from './tally';
import type { Trade } from './trade';

/** Between two looks at a market on which there is nothing to do. */
const IDLE_MS = 5;
/** A buyer without money does not press its nose against every window. */
const POOR_MS = 100;

/** Somebody at the market, with the connection and the way of trading that are its own. */
export interface Trader {
  readonly name: string;
  readonly redis: Redis;
  readonly trade: Trade;
}

/** When the market closes, and how much there is in all. */
export interface Hours {
  readonly closed: () => boolean;
  readonly items: number;
}

/** Buys one bargain after the other until the market closes or everything is sold. */
export async function shop(
  { name, redis, trade }: Trader,
  hours: Hours,
  choosePlace: () => number,
  tally: Tally,
): Promise<void> {
  let since: number | undefined;
  while (!hours.closed()) {
    const listing = (await listingAt(redis, choosePlace())) ?? (await listingAt(redis, 0));
    if (listing === undefined) {
      if ((await redis.llen(keys.sales)) >= hours.items) return;
      // Waiting for goods is no matter of locks.
      since = undefined;
      await sleep(IDLE_MS);
      continue;
    }
    since ??= performance.now();
    const outcome = await trade.buy(name, listing);
    tally.outcomes[outcome] += 1;
    if (outcome === 'done') {
      if (!hours.closed()) tally.times.push(performance.now() - since);
      since = undefined;
    } else if (outcome === 'poor') {
      since = undefined;
      await sleep(POOR_MS);
    }
  }
}

/** Lists whatever it has, one item after the other. */
export async function offer(
  { name, redis, trade }: Trader,
  hours: Hours,
  seed: number,
  tally: Tally,
): Promise<void> {
  while (!hours.closed()) {
    const item = await redis.srandmember(keys.inventory(name));
    if (item === null) return;
    const listing: Listing = { item, seller: name };
    if ((await trade.list(listing, priceOf(item, seed))) === 'done') tally.listed += 1;
  }
}
