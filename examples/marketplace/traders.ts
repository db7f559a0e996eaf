import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { keys, listingAt, type Listing } from './market';
import { priceOf } from './population';
import type { Tally } from './tally';
import type { Trade } from './trade';

/** The pause between two reads of a market without listings. */
const IDLE_PAUSE_MS = 5;
/** The pause of a buyer that could not pay. */
const POOR_PAUSE_MS = 100;

/** A buyer or a seller. Each trader has its own connection and its own trade. */
export interface Trader {
  readonly name: string;
  readonly redis: Redis;
  readonly trade: Trade;
}

export interface MarketSession {
  readonly isClosed: () => boolean;
  readonly items: number;
}

/** Buys one item after another until the market closes or every item is sold. */
export async function buyItems(
  { name, redis, trade }: Trader,
  session: MarketSession,
  chooseRank: () => number,
  tally: Tally,
): Promise<void> {
  let startedAt: number | undefined;
  while (!session.isClosed()) {
    const listing = (await listingAt(redis, chooseRank())) ?? (await listingAt(redis, 0));
    if (listing === undefined) {
      if ((await redis.llen(keys.sales)) >= session.items) return;
      // The wait for a listing is not part of the time of a purchase.
      startedAt = undefined;
      await sleep(IDLE_PAUSE_MS);
      continue;
    }
    startedAt ??= performance.now();
    const outcome = await trade.buy(name, listing);
    tally.outcomes[outcome] += 1;
    if (outcome === 'done') {
      if (!session.isClosed()) tally.times.push(performance.now() - startedAt);
      startedAt = undefined;
    } else if (outcome === 'poor') {
      startedAt = undefined;
      await sleep(POOR_PAUSE_MS);
    }
  }
}

/** Lists the trader's items one after another until the market closes or the inventory is empty. */
export async function listItems(
  { name, redis, trade }: Trader,
  session: MarketSession,
  seed: number,
  tally: Tally,
): Promise<void> {
  while (!session.isClosed()) {
    const item = await redis.srandmember(keys.inventory(name));
    if (item === null) return;
    const listing: Listing = { item, seller: name };
    if ((await trade.list(listing, priceOf(item, seed))) === 'done') tally.listed += 1;
  }
}
