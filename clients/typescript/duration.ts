import type { Duration } from '../../generated/typescript/google/protobuf/duration';

/**
 * Milliseconds as the Duration of a request: `ttl: duration(30_000)`. Fractions are kept to the nanosecond,
 * so that no short wait becomes "try once".
 */
export function duration(ms: number): Duration {
  if (!Number.isFinite(ms))
    throw new RangeError(`a duration must be a finite number of milliseconds, not ${ms}`);
  const totalNanos = BigInt(Math.trunc(ms)) * 1_000_000n + BigInt(Math.round((ms % 1) * 1e6));
  return { seconds: totalNanos / 1_000_000_000n, nanos: Number(totalNanos % 1_000_000_000n) };
}
