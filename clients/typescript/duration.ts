import type { Duration } from '../../generated/typescript/google/protobuf/duration';

/** The largest span that google.protobuf.Duration allows: 10,000 years. */
const MAX_SECONDS = 315_576_000_000n;
const MAX_NANOS = 999_999_999;

/**
 * Converts milliseconds to the Duration of a request: `ttl: duration(30_000)`. Keeps nanoseconds, so a short
 * `wait_timeout` does not become zero. Zero means "try once".
 */
export function duration(ms: number): Duration {
  if (!Number.isFinite(ms))
    throw new RangeError(`a duration must be a finite number of milliseconds, not ${ms}`);
  const totalNanos = BigInt(Math.trunc(ms)) * 1_000_000n + BigInt(Math.round((ms % 1) * 1e6));
  return { seconds: totalNanos / 1_000_000_000n, nanos: Number(totalNanos % 1_000_000_000n) };
}

/** Converts to milliseconds, with fractions. Undefined: a field is out of range, or the two signs differ. */
export function durationToMs({ seconds, nanos }: Duration): number | undefined {
  if (seconds > MAX_SECONDS || seconds < -MAX_SECONDS || Math.abs(nanos) > MAX_NANOS) return undefined;
  if ((seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)) return undefined;
  return Number(seconds) * 1000 + nanos / 1e6;
}
