import type { Listing } from './market';

/**
 * How an attempt to buy or to list something ended.
 *
 *  - `done`
 *  - `gone`: somebody else was faster
 *  - `poor`: the buyer cannot pay
 *  - `contended`: given up, since others were in the way for too long
 *  - `late`: not written, since the lease was over by our own clock
 *  - `refused`: written too late, and refused by its fencing token
 */
export type Outcome = 'done' | 'gone' | 'poor' | 'contended' | 'late' | 'refused';

/** A way to trade safely beside others who do the same. Used by one trader, one call at a time. */
export interface Trade {
  buy(buyer: string, listing: Listing): Promise<Outcome>;
  list(listing: Listing, price: number): Promise<Outcome>;
  /** How often something was begun again on account of others, or of a server that did not answer. */
  readonly retries: number;
  /** How long each lock took to be had (ms), the wait included. */
  readonly lockTimes: readonly number[];
}

/** Called between the last check and the write, where a real program may be stopped by whatever it is. */
export type BeforeWrite = () => Promise<void>;
