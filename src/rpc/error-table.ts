import { status } from '@grpc/grpc-js';
import type { Reason } from '../base/errors';

export interface ErrorRow {
  readonly code: status;
  /** The delay in RetryInfo if the engine gives no delay. Undefined: no RetryInfo is sent. */
  readonly retryAfterMs?: number;
  /** Also send the delay as `grpc-retry-pushback-ms`, which gRPC libraries obey when they retry. */
  readonly pushback?: true;
}

/** The status code and the advice on retries for each reason. `docs/errors.md` is made from this table. */
export const ERROR_TABLE: Readonly<Record<Reason, ErrorRow>> = {
  INVALID_FIELD: { code: status.INVALID_ARGUMENT },
  REQUEST_MISMATCH: { code: status.INVALID_ARGUMENT },
  CONTENDED: { code: status.ABORTED, retryAfterMs: 1000 },
  LEASE_LOST: { code: status.ABORTED },
  SUPERSEDED: { code: status.ABORTED },
  IMPORT_CONFLICT: { code: status.ABORTED },
  LEASE_NOT_HELD: { code: status.NOT_FOUND },
  NO_SUCH_SEMAPHORE: { code: status.NOT_FOUND },
  NO_SUCH_DICTIONARY: { code: status.NOT_FOUND },
  DICTIONARY_EXISTS: { code: status.ALREADY_EXISTS },
  LIMIT_MISMATCH: { code: status.FAILED_PRECONDITION },
  NEVER_FITS: { code: status.FAILED_PRECONDITION },
  REQUEST_FINISHED: { code: status.FAILED_PRECONDITION },
  SEMAPHORE_IN_USE: { code: status.FAILED_PRECONDITION },
  QUEUE_FULL: { code: status.RESOURCE_EXHAUSTED, retryAfterMs: 1000 },
  QUOTA_EXCEEDED: { code: status.RESOURCE_EXHAUSTED, retryAfterMs: 1000 },
  OVERLOADED: { code: status.RESOURCE_EXHAUSTED, retryAfterMs: 1000 },
  STORE_FULL: { code: status.RESOURCE_EXHAUSTED, retryAfterMs: 5000 },
  STORE_UNAVAILABLE: { code: status.UNAVAILABLE, retryAfterMs: 1000 },
  OUTCOME_UNKNOWN: { code: status.UNAVAILABLE, retryAfterMs: 200 },
  DRAINING: { code: status.UNAVAILABLE, retryAfterMs: 100, pushback: true },
  QUARANTINED: { code: status.UNAVAILABLE, retryAfterMs: 1000, pushback: true },
  DICTIONARY_LOADING: { code: status.UNAVAILABLE, retryAfterMs: 1000, pushback: true },
  REATTACH: { code: status.UNAVAILABLE, retryAfterMs: 0, pushback: true },
  SESSION_SILENT: { code: status.UNAVAILABLE, retryAfterMs: 0 },
  NO_CREDENTIAL: { code: status.UNAUTHENTICATED },
  BAD_CREDENTIAL: { code: status.UNAUTHENTICATED },
  NOT_ALLOWED: { code: status.PERMISSION_DENIED },
  NOT_IMPLEMENTED: { code: status.UNIMPLEMENTED },
  INTERNAL: { code: status.INTERNAL },
};
