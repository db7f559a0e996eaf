import type { Redis } from 'ioredis';

/** Where a contender runs: one worker on one machine, whose clock may be off and which may be paused. */
export interface Place {
  /** A connection of its own, made when it is first used. */
  readonly redis: Redis;
  /** Of the Holdfast server. */
  readonly address: string;
  /** How many may hold at once; 1 for a lock. */
  readonly limit: number;
  /** The time of day as this machine has it (ms). */
  readonly clock: () => number;
  /** Stands between two steps: as a rule it resolves at once, sometimes much later. */
  readonly pause: () => Promise<void>;
}

/** A way to a lock or a semaphore. */
export interface Contender {
  /** Undefined: not granted within `waitMs`. */
  acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined>;
  close?(): void;
}

export interface Permit {
  /** Until when its holder may believe that it has it, by the contender's own rule, on `monotonicMs`. */
  readonly until: number;
  /** Makes it live longer; false: it is lost. None: it cannot be, or it does so by itself. */
  refresh?(): Promise<boolean>;
  release(): Promise<void>;
  /** Its process is gone: from now on nothing is sent for it. */
  abandon?(): void;
}
