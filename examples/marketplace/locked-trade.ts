import type { FencedMarket, Fence } from './fenced-market';
import type { HeldLock } from './locks';
import type { Listing } from './market';
import type { BeforeWrite, Outcome, Trade } from './trade';

/** The locks that a trade uses. */
export interface LockSource {
  acquire(name: string): Promise<HeldLock | undefined>;
  release(held: HeldLock): Promise<boolean>;
  /** The number of repeated calls. */
  readonly retryCount: number;
}

/** Returns the name of the lock that protects an item. */
export type LockNaming = (item: string) => string;

/** One lock for the whole market. */
export const coarse: LockNaming = () => 'market';
/** One lock for each item. Traders of different items do not wait for each other. */
export const fine: LockNaming = (item) => `market/${item}`;

/**
 * Pessimistic locking: acquire the lock, read, write, release the lock. A trade holds only one lock at a time, so no
 * deadlock is possible.
 */
export class LockedTrade implements Trade {
  readonly lockTimes: number[] = [];

  constructor(
    private readonly market: FencedMarket,
    private readonly locks: LockSource,
    private readonly lockFor: LockNaming,
    private readonly beforeWrite: BeforeWrite,
  ) {}

  get retries(): number {
    return this.locks.retryCount;
  }

  buy(buyer: string, listing: Listing): Promise<Outcome> {
    return this.underLock(listing.item, async (fence, isPastDeadline) => {
      const found = await this.market.readListing(fence, buyer, listing);
      if (found === 'refused') return found;
      const { price, funds } = found;
      if (price === undefined) return 'gone';
      if (funds < price) return 'poor';
      if (isPastDeadline()) return 'late';
      await this.beforeWrite();
      return this.market.transfer(fence, { ...listing, buyer, price });
    });
  }

  list(listing: Listing, price: number): Promise<Outcome> {
    return this.underLock(listing.item, async (fence, isPastDeadline) => {
      const isOwned = await this.market.ownsItem(fence, listing);
      if (isOwned === 'refused') return isOwned;
      if (!isOwned) return 'gone';
      if (isPastDeadline()) return 'late';
      return this.market.listItem(fence, listing, price);
    });
  }

  private async underLock(
    item: string,
    work: (fence: Fence, isPastDeadline: () => boolean) => Promise<Outcome>,
  ): Promise<Outcome> {
    const lock = this.lockFor(item);
    const startedAt = performance.now();
    const held = await this.locks.acquire(lock);
    if (held === undefined) return 'contended';
    this.lockTimes.push(performance.now() - startedAt);
    try {
      return await work({ lock, token: held.token }, () => performance.now() >= held.until);
    } finally {
      await this.locks.release(held);
    }
  }
}
