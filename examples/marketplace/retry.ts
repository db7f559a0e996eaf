import { status, type ServiceError } from '@grpc/grpc-js';
import { holdfastError } from '../../clients/typescript';

const FIRST_PAUSE_MS = 50;
/** Shorter than the delay of QUARANTINED, because an operator may end a quarantine early. */
const LONGEST_PAUSE_MS = 1000;

/** Status codes of a broken connection, apart from UNAVAILABLE. With an error reason of Holdfast the reason decides. */
const BROKEN = new Set([status.CANCELLED, status.UNKNOWN, status.INTERNAL, status.DEADLINE_EXCEEDED]);

/**
 * The pause before a retry at the next server (ms). Undefined: a retry cannot help.
 *
 * @param error undefined if a stream ended without an error
 * @param failures the number of failures in a row, including this failure
 */
export function pauseAfter(error: ServiceError | undefined, failures: number): number | undefined {
  const fault = holdfastError(error);
  const isRetryable =
    error === undefined ||
    error.code === status.UNAVAILABLE ||
    (fault ? fault.retryAfterMs !== undefined : BROKEN.has(error.code));
  if (!isRetryable) return undefined;
  // The first retry has no pause, because it goes to another server and a held lease leaves little time.
  const backoff = failures <= 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
  return Math.max(backoff, Math.min(fault?.retryAfterMs ?? 0, LONGEST_PAUSE_MS));
}
