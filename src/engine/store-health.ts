/** Ports to the store as a whole: its health, and what an operator may ask of it. */

/** Whether the store answers and is safe to use. Health checks and GetServerInfo show it. */
export interface StoreHealth {
  readonly reachable: boolean;
  /** False if the store's configuration may drop leases. The server must not report ready then. */
  readonly suitable: boolean;
  /** Dangerous settings of the store, as sentences for an operator. */
  readonly warnings: readonly string[];
  /** Set while grants are paused, because the store may have forgotten leases that clients still believe in. */
  readonly quarantine: Quarantine | undefined;
  onChange(listener: () => void): void;
}

export interface Quarantine {
  readonly remainingMs: number;
  readonly cause: QuarantineCause;
}

/**
 * 'forgotten': the store had no data of ours, as after FLUSHALL or on first use. 'restarted': Redis restarted or was
 * replaced, and may have lost its last writes. 'clock': the clock of Redis stepped forward, so leases seem to end
 * early.
 */
export type QuarantineCause = 'forgotten' | 'restarted' | 'clock';

export interface StoreOperations {
  /** Ends a quarantine now. Resolves to the quarantine that ended, or undefined. Rejects with a `StoreFailure`. */
  endQuarantine(): Promise<Quarantine | undefined>;
}
