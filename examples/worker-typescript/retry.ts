import { status, type ServiceError } from '@grpc/grpc-js';
import { holdfastError } from '../../clients/typescript';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** How a broken connection looks, besides UNAVAILABLE; only where the service itself has said nothing. */
const BROKEN = new Set([status.CANCELLED, status.UNKNOWN, status.INTERNAL, status.DEADLINE_EXCEEDED]);

/**
 * How long to wait before the call is made again, at the next server; undefined where that is no use.
 *
 * @param error undefined: the stream ended without a reason
 * @param failures in a row, this one included
 */
export function pauseAfter(error: ServiceError | undefined, failures: number): number | undefined {
  const fault = holdfastError(error);
  const again =
    error === undefined ||
    error.code === status.UNAVAILABLE ||
    (fault ? fault.retryAfterMs !== undefined : BROKEN.has(error.code));
  if (!again) return undefined;
  // The first time at once: with a lease in hand there is no time to lose, and it is another server anyhow.
  const backoff = failures <= 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
  return Math.max(backoff, Math.min(fault?.retryAfterMs ?? 0, LONGEST_PAUSE_MS));
}
