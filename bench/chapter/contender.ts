import type { Redis } from 'ioredis';

/** The place of one worker: its machine's clock may be wrong, and its machine may pause. */
export interface Place {
  /** A connection of the worker's own, opened at its first use. */
  readonly redis: Redis;
  /** The address of the Holdfast server. */
  readonly address: string;
  /** The number of concurrent holders; 1 for a lock. */
  readonly limit: number;
  /** The time of day on this machine's clock (ms). */
  readonly clock: () => number;
  /** Called between two steps. Resolves at once, or later if the machine pauses. */
  readonly pause: () => Promise<void>;
}

/** An implementation of a lock or a semaphore. */
export interface Contender {
  /** Resolves to undefined if there is no grant within `waitMs`. */
  acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined>;
  close?(): void;
}

export interface Permit {
  /** The time on `monotonicMs` until which the holder may believe in the permit, by the contender's own rule. */
  readonly until: number;
  /** Extends the permit; false if the permit is lost. Undefined if the contender cannot or need not extend it. */
  refresh?(): Promise<boolean>;
  release(): Promise<void>;
  /** Stops all commands for the permit, as if the holder's process had died. */
  abandon?(): void;
}
