import type { Lease as HeldLease } from './sessions/lease';

/** A held lock, or held permits. The type has public members only, so a test can pass a plain object as a double. */
export type Lease = Pick<HeldLease, keyof HeldLease>;

/** The work under a lease. */
export type Body<T> = (lease: Lease) => Promise<T> | T;

/** The lease of a leader. `updateMetadata` keeps the leader's value. */
export interface LeaderLease extends Lease {
  /** Shows another value to all observers. Keeps the other metadata. Rejects as `updateMetadata` does. */
  updateValue(value: string): Promise<void>;
}
