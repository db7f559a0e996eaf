/** The domain's failures. One table in the transport maps each reason to a status code. */
export type Reason =
  | 'INVALID_FIELD'
  | 'REQUEST_MISMATCH'
  | 'CONTENDED'
  | 'LEASE_LOST'
  | 'SUPERSEDED'
  | 'IMPORT_CONFLICT'
  | 'LEASE_NOT_HELD'
  | 'NO_SUCH_SEMAPHORE'
  | 'NO_SUCH_DICTIONARY'
  | 'DICTIONARY_EXISTS'
  | 'LIMIT_MISMATCH'
  | 'NEVER_FITS'
  | 'REQUEST_FINISHED'
  | 'SEMAPHORE_IN_USE'
  | 'QUEUE_FULL'
  | 'QUOTA_EXCEEDED'
  | 'STORE_FULL'
  | 'STORE_UNAVAILABLE'
  | 'OUTCOME_UNKNOWN'
  | 'DRAINING'
  | 'QUARANTINED'
  | 'REATTACH'
  | 'NOT_IMPLEMENTED'
  | 'INTERNAL';

export interface FieldViolation {
  /** Path of the field as the proto spells it, e.g. `acquire.ttl`. */
  readonly field: string;
  readonly description: string;
}

export interface ErrorDetails {
  /** ErrorInfo.metadata: short machine-readable facts. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** How long the caller had better wait before it tries again. */
  readonly retryAfterMs?: number;
  /** Every bad field at once; INVALID_FIELD only. */
  readonly violations?: readonly FieldViolation[];
}

/**
 * A failure that a caller is meant to see. Anything else that is thrown is a defect: it is logged whole
 * and answered blandly.
 */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError';

  constructor(
    readonly reason: Reason,
    message: string,
    readonly details: ErrorDetails = {},
  ) {
    super(message);
  }
}

/**
 * A store command that was not answered. `carriedOut` tells apart what decides the status: 'no' was never
 * written to a socket or was refused before the script's first line; 'unknown' may have run, now or later.
 */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure';

  constructor(
    readonly carriedOut: 'no' | 'unknown',
    /**
     * 'full' is Redis out of memory: nothing was done. 'quarantined': it may have forgotten leases, and grants pause; with
     * 'unknown' it has granted all the same what nobody may be told of.
     */
    readonly kind: 'unavailable' | 'full' | 'quarantined',
    options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(`store ${kind}, carried out: ${carriedOut}`, options);
    this.retryAfterMs = options.retryAfterMs;
  }

  /** How long grants still pause, of 'quarantined'. */
  readonly retryAfterMs: number | undefined;
}

/**
 * For work that no call waits for and that is tried again: that the store did not answer is expected there,
 * anything else is a defect.
 */
export function reportDefect(error: unknown, onDefect: (error: unknown) => void): void {
  if (!(error instanceof StoreFailure)) onDefect(error);
}
