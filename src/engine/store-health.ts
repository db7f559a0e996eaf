/** Ports to the store as a whole: whether it answers, whether it may be trusted, and what an operator asks of it. */

/** Whether the store answers at all; health and GetServerInfo show it. */
export interface StoreHealth {
  readonly reachable: boolean;
  /** False if the store is set up so that it drops leases: the server must not count as ready then. */
  readonly suitable: boolean;
  /** What is dangerous in the store's own configuration, in plain sentences. */
  readonly warnings: readonly string[];
  /** Set while nothing is granted, for the store may have forgotten leases that are still believed. */
  readonly quarantine: Quarantine | undefined;
  onChange(listener: () => void): void;
}

export interface Quarantine {
  /** How long it still lasts. */
  readonly remainingMs: number;
  readonly cause: QuarantineCause;
}

/**
 * 'forgotten': the store knew nothing of us, as after FLUSHALL or when it is new. 'restarted': it was started again or
 * replaced, and may have lost its last writes. 'clock': its clock was set forward, so leases seem to end early.
 */
export type QuarantineCause = 'forgotten' | 'restarted' | 'clock';

/** What an operator may ask of the store as a whole. */
export interface StoreOperations {
  /** Ends a quarantine now: what it had left, undefined if there was none. Rejects with a `StoreFailure`. */
  endQuarantine(): Promise<Quarantine | undefined>;
}
