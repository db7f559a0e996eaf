/** The ports to the store as a whole: its health, and the operations for an operator. */

/** Shows whether the store answers and is safe to use. Health checks and GetServerInfo read these fields. */
export interface StoreHealth {
  readonly reachable: boolean;
  /** False if the store's configuration may drop leases. The server must not report ready then. */
  readonly suitable: boolean;
  /** One sentence for an operator about each dangerous setting of the store. */
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
 * 'forgotten': the store has no data of Holdfast, for example after FLUSHALL or at first use. 'restarted': Redis
 * restarted or was replaced, and may have lost its last writes. 'clock': the clock of Redis stepped forward, so leases
 * may end early.
 */
export type QuarantineCause = 'forgotten' | 'restarted' | 'clock';

export interface StoreOperations {
  /** Resolves to the quarantine that ended. Undefined: there was no quarantine. Rejects with a `StoreFailure`. */
  endQuarantine(): Promise<Quarantine | undefined>;
}
