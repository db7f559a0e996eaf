import type { Listing } from './market';

/**
 * The outcome of an attempt to buy or to list an item.
 *
 *  - `done`: the write was made
 *  - `gone`: another trader was faster
 *  - `poor`: the buyer cannot pay
 *  - `contended`: the wait for other traders timed out
 *  - `late`: not written, because the deadline of the lease had passed on the trader's own clock
 *  - `refused`: the market refused the write because of its fencing token
 */
export type Outcome = 'done' | 'gone' | 'poor' | 'contended' | 'late' | 'refused';

/** One trader's implementation of a strategy. The trader makes one call at a time. */
export interface Trade {
  buy(buyer: string, listing: Listing): Promise<Outcome>;
  list(listing: Listing, price: number): Promise<Outcome>;
  /** The number of retries after a conflict with another trader. A trade under a lock needs none. */
  readonly retries: number;
  /** Times to acquire a lock in ms, with the wait. */
  readonly lockTimes: readonly number[];
}

/** Runs between the last check and the write. At this point a process may be paused for any time. */
export type BeforeWrite = () => Promise<void>;
