import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import { durationToMs } from './duration';

/**
 * The time on the caller's own monotonic clock until which the caller may rely on a lease. The deadline is never later
 * than the true end of the lease. The clocks of caller and server need not agree.
 *
 *     const t0 = performance.now();            // before the call is sent; for a stream, before it is opened
 *     const { lease } = await acquire(…);
 *     const until = deadline(t0, lease.expireOffset, lease.ttl);
 *     …
 *     if (performance.now() >= until) stop();  // before each step of the protected work
 *
 * Each answer about a lease gives a deadline, and the latest deadline is valid. A lease with an unset field gives
 * -Infinity.
 *
 * @param t0 `performance.now()` just before the call was sent
 * @param expireOffset the answer's or event's `expire_offset`
 * @param ttl the lease's `ttl`
 * @param receipt `performance.now()` at the arrival of the answer. Default: now
 */
export function deadline(
  t0: number,
  expireOffset: Duration | undefined,
  ttl: Duration | undefined,
  receipt: number = performance.now(),
): number {
  return Math.min(t0 + spanMs(expireOffset), receipt + spanMs(ttl));
}

function spanMs(span: Duration | undefined): number {
  return (span && durationToMs(span)) ?? -Infinity;
}
