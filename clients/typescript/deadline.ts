import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import { durationToMs } from './duration';

/**
 * The time on the caller's own monotonic clock until which the caller may rely on a lease. The deadline is never
 * later than the true end of the lease, and needs no clock that is shared with the server.
 *
 *     const t0 = performance.now();            // before the call is sent; for a stream, before it is opened
 *     const { lease } = await acquire(…);
 *     const until = deadline(t0, lease.expireOffset, lease.ttl);
 *     …
 *     if (performance.now() >= until) stop();  // before each step of the protected work
 *
 * Several answers about one lease give several deadlines: the latest deadline counts. A lease with an unset field
 * gives -Infinity: no time at all.
 *
 * @param t0 `performance.now()` just before the call was sent
 * @param expireOffset the answer's or event's `expire_offset`
 * @param ttl the lease's `ttl`
 * @param receipt `performance.now()` when the answer arrived. Default: now
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
