/** The reason why a call failed. One table (rpc/call-errors.ts) maps each reason to a status code. */
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
  | 'DICTIONARY_LOADING'
  | 'QUEUE_FULL'
  | 'QUOTA_EXCEEDED'
  | 'STORE_FULL'
  | 'OVERLOADED'
  | 'STORE_UNAVAILABLE'
  | 'OUTCOME_UNKNOWN'
  | 'DRAINING'
  | 'QUARANTINED'
  | 'REATTACH'
  | 'SESSION_SILENT'
  | 'NO_CREDENTIAL'
  | 'BAD_CREDENTIAL'
  | 'NOT_ALLOWED'
  | 'NOT_IMPLEMENTED'
  | 'INTERNAL';

export interface FieldViolation {
  /** The path of the field, spelled as in the proto files, e.g. `acquire.ttl`. */
  readonly field: string;
  readonly description: string;
}

export interface ErrorDetails {
  /** ErrorInfo.metadata: short machine-readable facts. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The pause before the caller's next try, in ms. 'never': a retry does not help. Default: by the reason. */
  readonly retryAfterMs?: number | 'never';
  /** All invalid fields. Only for INVALID_FIELD. */
  readonly violations?: readonly FieldViolation[];
}

/** An error for the caller. Any other error is a defect. `rpc` logs a defect and answers INTERNAL. */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError';

  constructor(
    readonly reason: Reason,
    message: string,
    readonly details: ErrorDetails = {},
  ) {
    // An error for the caller has no stack: nothing reads the stack, and the stack costs more time than the answer.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * A store command failed. `carriedOut` decides the status. 'no': the command was never sent, or the store refused the
 * command before the script's first line. 'unknown': the command may have run, or may still run.
 */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure';

  constructor(
    readonly carriedOut: 'no' | 'unknown',
    /**
     * 'full': Redis is out of memory. 'overloaded': the command would have waited too long, and was not sent.
     * 'quarantined': the store may have forgotten leases, and grants are paused. 'quarantined' with 'unknown': the
     * store has granted permits, but the grant must not be reported.
     * 'unconfirmed': the store has made a change, but its replicas have not confirmed the change.
     */
    readonly kind: 'unavailable' | 'full' | 'overloaded' | 'quarantined' | 'unconfirmed',
    options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(`store ${kind}, carried out: ${carriedOut}`, options);
    this.retryAfterMs = options.retryAfterMs;
  }

  /** How long grants stay paused (ms). Only for 'quarantined'. */
  readonly retryAfterMs: number | undefined;
}

/** Reports a defect of background work. A store failure is no defect, because background work is repeated. */
export function reportDefect(error: unknown, onDefect: (error: unknown) => void): void {
  if (!(error instanceof StoreFailure)) onDefect(error);
}
