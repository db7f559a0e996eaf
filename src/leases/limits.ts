/** The bounds of one permits engine. */
export interface Limits {
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  readonly defaultTtlMs: number;
  /**
   * The age limit of streams and waits, so that clock drift does not add up. At this age a stream renews once more,
   * then ends with REATTACH.
   */
  readonly maxStreamAgeMs: number;
  readonly maxWaitersPerName: number;
  /** If a client cancels more calls at the same time, gRPC may end the connection and so all its hold streams. */
  readonly maxWaitingCallsPerConnection: number;
  /** The most hold streams, and the most watch streams. An open stream costs about 20 kB of memory. */
  readonly maxStreams: number;
}

export const defaultLimits: Limits = {
  minTtlMs: 100,
  maxTtlMs: 120_000,
  defaultTtlMs: 30_000,
  maxStreamAgeMs: 3_600_000,
  maxWaitersPerName: 10_000,
  maxWaitingCallsPerConnection: 500,
  maxStreams: 50_000,
};

export const MAX_HOLDER_ID_BYTES = 256;
export const MAX_METADATA_PAIRS = 16;
export const MAX_METADATA_BYTES = 4096;
export const MAX_LEASE_ID_CHARS = 1024;

/** The largest limit of a semaphore, and the largest permit_count: both are int32 in the contract. */
export const MAX_LIMIT = 2 ** 31 - 1;

/** A lock is a semaphore with this limit: an exclusive holder takes all permits, a shared holder takes 1. */
export const LOCK_LIMIT = MAX_LIMIT;
