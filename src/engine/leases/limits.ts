/** Every bound of the permits engine, each with the reason for its default. Configuration may move them. */
export interface Limits {
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  readonly defaultTtlMs: number;
  /**
   * A stream older than this is renewed once more and ends with REATTACH, so that drift never adds up. A wait
   * ends at the same age.
   */
  readonly maxStreamAgeMs: number;
  readonly maxWaitersPerName: number;
  /** A mass cancel of waiting calls must not end the connection that carries lease streams. */
  readonly maxWaitingCallsPerConnection: number;
  /** Each open hold stream costs about 20 kB of memory; past this many they are refused. */
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

/** Of a semaphore, and so of what one request may ask for: the contract's counts are int32. */
export const MAX_LIMIT = 2 ** 31 - 1;

/** A lock is a semaphore whose limit is very large: an exclusive holder takes all of it, a shared one 1. */
export const LOCK_LIMIT = MAX_LIMIT;
