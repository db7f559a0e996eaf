import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import { durationToMs } from '../../src/wire/times';

/**
 * Until when the caller may believe that it holds a lease, on its own monotonic clock: never later than the
 * lease's true end, with no clock shared with anybody.
 *
 *     const t0 = performance.now();            // before the call is sent; for a stream, before it is opened
 *     const { lease } = await acquire(…);
 *     const until = deadline(t0, lease.expireOffset, lease.ttl);
 *     …
 *     if (performance.now() >= until) stop();  // before each step of the protected work
 *
 * Of several answers about one lease the latest deadline counts. A lease whose fields are not set gives no
 * time at all.
 *
 * @param t0 `performance.now()` just before the call was sent
 * @param expireOffset of the answer or event
 * @param ttl of the lease
 * @param receipt `performance.now()` when the answer was there: now, unless it lay about
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
