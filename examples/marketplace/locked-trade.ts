import type { FencedMarket, Fence } from './fenced-market';
import type { Held } from './locks';
import type { Listing } from './market';
import type { BeforeWrite, Outcome, Trade } from './trade';

/** Where locks come from. */
export interface LockSource {
  acquire(name: string): Promise<Held | undefined>;
  release(held: Held): Promise<boolean>;
  readonly resent: number;
}

/** Which lock stands for an item. */
export type LockNaming = (item: string) => string;

/** One for everything that is bought or sold. */
export const coarse: LockNaming = () => 'market';
/** One for each item: who deals in different items never meets. */
export const fine: LockNaming = (item) => `market/${item}`;

/**
 * Pessimistic: take the lock, look, write, give it back. Exactly one lock is held, whatever a purchase touches
 * besides: nobody ever waits for a lock while holding another, so there is no deadlock, and no order of locks that
 * somebody might not keep to.
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
    return this.locks.resent;
  }

  buy(buyer: string, listing: Listing): Promise<Outcome> {
    return this.underLock(listing.item, async (fence, isOver) => {
      const seen = await this.market.lookAtListing(fence, buyer, listing);
      if (seen === 'refused') return seen;
      const { price, funds } = seen;
      if (price === undefined) return 'gone';
      if (funds < price) return 'poor';
      if (isOver()) return 'late';
      await this.beforeWrite();
      return this.market.transfer(fence, { ...listing, buyer, price });
    });
  }

  list(listing: Listing, price: number): Promise<Outcome> {
    return this.underLock(listing.item, async (fence, isOver) => {
      const isThere = await this.market.lookAtInventory(fence, listing);
      if (isThere === 'refused') return isThere;
      if (!isThere) return 'gone';
      if (isOver()) return 'late';
      return this.market.putUp(fence, listing, price);
    });
  }

  private async underLock(
    item: string,
    work: (fence: Fence, isOver: () => boolean) => Promise<Outcome>,
  ): Promise<Outcome> {
    const lock = this.lockFor(item);
    const askedAt = performance.now();
    const held = await this.locks.acquire(lock);
    if (held === undefined) return 'contended';
    this.lockTimes.push(performance.now() - askedAt);
    try {
      return await work({ lock, token: held.token }, () => performance.now() >= held.until);
    } finally {
      await this.locks.release(held);
    }
  }
}
