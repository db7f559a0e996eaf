import {
  HoldfastError,
  LeaseLostError,
  UnavailableError,
  type Holdfast,
  type Lease,
  type LockOptions,
} from '@holdfast/client';
import type { FencedMarket, Fence } from './fenced-market';
import type { Listing } from './market';
import type { BeforeWrite, Outcome, Trade } from './trade';

/** Returns the name of the lock that protects an item. */
export type LockNaming = (item: string) => string;

/** One lock for the whole market. */
export const coarse: LockNaming = () => 'market';
/** One lock for each item. Traders of different items do not wait for each other. */
export const fine: LockNaming = (item) => `market/${item}`;

/** How a trade gets its locks. */
export interface Locking {
  readonly client: Pick<Holdfast, 'lock'>;
  readonly options: LockOptions;
  readonly lockFor: LockNaming;
}

/**
 * Pessimistic locking: acquire the lock, read, write, release the lock. A trade holds only one lock at a time, so no
 * deadlock is possible.
 */
export class LockedTrade implements Trade {
  readonly retries = 0;
  readonly lockTimes: number[] = [];

  constructor(
    private readonly market: FencedMarket,
    private readonly locking: Locking,
    private readonly beforeWrite: BeforeWrite,
  ) {}

  buy(buyer: string, listing: Listing): Promise<Outcome> {
    return this.underLock(listing.item, async (fence, lease) => {
      const found = await this.market.readListing(fence, buyer, listing);
      if (found === 'refused') return found;
      const { price, funds } = found;
      if (price === undefined) return 'gone';
      if (funds < price) return 'poor';
      lease.check();
      await this.beforeWrite();
      return this.market.transfer(fence, { ...listing, buyer, price });
    });
  }

  list(listing: Listing, price: number): Promise<Outcome> {
    return this.underLock(listing.item, async (fence, lease) => {
      const isOwned = await this.market.ownsItem(fence, listing);
      if (isOwned === 'refused') return isOwned;
      if (!isOwned) return 'gone';
      lease.check();
      return this.market.listItem(fence, listing, price);
    });
  }

  private async underLock(
    item: string,
    work: (fence: Fence, lease: Lease) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { client, options, lockFor } = this.locking;
    const lock = lockFor(item);
    const startedAt = performance.now();
    // The client repeats the request under one request_id until the wait is over.
    const lease = await unlessNotGranted(client.lock(lock, options));
    if (lease === undefined) return 'contended';
    this.lockTimes.push(performance.now() - startedAt);
    try {
      return await work({ lock, token: lease.fencingToken }, lease);
    } catch (error) {
      if (error instanceof LeaseLostError) return 'late';
      throw error;
    } finally {
      await unlessNotGranted(lease.release());
    }
  }
}

/**
 * CONTENDED: others held the lock for the whole wait. REQUEST_FINISHED: the answer to a grant was lost, and the lease has
 * ended. No work was done under this lease.
 */
const NOT_GRANTED = new Set(['CONTENDED', 'REQUEST_FINISHED']);

/** Undefined: not granted, or no server answered. The client repeats a release without an answer. */
async function unlessNotGranted<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof UnavailableError) return undefined;
    if (error instanceof HoldfastError && NOT_GRANTED.has(error.reason)) return undefined;
    throw error;
  }
}
