import type { AwaitedGrant } from './contest';

/**
 * The tasks of a load program on the locks of one system. The programs in all languages have the same tasks. A program
 * reads calls such as `{"id":1,"task":"alone","input":{"clients":8,"forMs":300}}` from its input, one a line, answers
 * `{"id":1,"output":[0.21]}`, and ends with its input.
 */
export type DriverTasks = {
  open(system: OpenedSystem): Promise<{ readonly pid: number; readonly version: string }>;
  /** Acquires and releases. Each client has 100 locks of its own, in turn. Answers the time of each acquire (ms). */
  alone(input: { readonly clients: number; readonly forMs: number }): Promise<number[]>;
  /**
   * Keeps the number of waiters: a new waiter starts to wait before a holder releases. After its time, the waiters that
   * are left take their turns and release immediately. Answers all grants.
   */
  contend(contest: Contest): Promise<AwaitedGrant[]>;
  /** Acquires locks and holds the locks until the end of the process. Each holder sends a `Write` every 5 ms as an event. */
  hold(input: { readonly name: string; readonly count: number }): Promise<void>;
};

export interface OpenedSystem {
  readonly system: string;
  readonly address: string;
  readonly ttlMs: number;
}

export interface Contest {
  readonly name: string;
  readonly waiters: number;
  readonly forMs: number;
  readonly holdMs: number;
}

/** The holder's write to what its lock protects. */
export interface Write {
  readonly lock: number;
  /** Whether the holder's library says that the lock is still held. */
  readonly isHeld: boolean;
  /** The fencing token in decimal digits. Undefined for a system without tokens. */
  readonly token?: string;
}
