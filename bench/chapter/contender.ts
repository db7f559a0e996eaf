import type { Redis } from 'ioredis';

/** The environment of a worker. The machine of the worker may have a wrong clock, and may pause. */
export interface Place {
  /** The worker's own connection, which is opened at its first use. */
  readonly redis: Redis;
  /** The address of the Holdfast server. */
  readonly address: string;
  /** The maximum number of concurrent holders, which is 1 for a lock. */
  readonly limit: number;
  /** The time of day on this machine's clock (ms). */
  readonly clock: () => number;
  /** A contender calls this between two steps. Resolves immediately, or later if the machine pauses. */
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
  /** Extends the permit. Resolves to false if the permit is lost. Undefined if the contender does not extend permits. */
  refresh?(): Promise<boolean>;
  release(): Promise<void>;
  /** Stops all commands for the permit, as if the holder's process had died. */
  abandon?(): void;
}
