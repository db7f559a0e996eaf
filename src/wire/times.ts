import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import type { Timestamp } from '../../generated/typescript/google/protobuf/timestamp';

/** The largest span that google.protobuf.Duration allows: 10,000 years. */
const MAX_SECONDS = 315_576_000_000n;
const MAX_NANOS = 999_999_999;
const NANOS_PER_MS = 1e6;

/** Converts to milliseconds, with fractions. Undefined: a field is out of range, or the two signs differ. */
export function durationToMs(duration: Duration): number | undefined {
  const { seconds, nanos } = duration;
  if (seconds > MAX_SECONDS || seconds < -MAX_SECONDS) return undefined;
  if (!(nanos >= -MAX_NANOS && nanos <= MAX_NANOS)) return undefined;
  if ((seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)) return undefined;
  return Number(seconds) * 1000 + nanos / NANOS_PER_MS;
}

/**
 * Converts a span of time. Rounds down to a whole millisecond, because an `expire_offset` must never be later than the
 * lease's true end. Every other span that the server sends is a whole number.
 */
export function msToDuration(ms: number): Duration {
  const whole = Math.floor(ms);
  const seconds = Math.trunc(whole / 1000);
  return {
    seconds: BigInt(seconds),
    nanos: (whole - seconds * 1000) * NANOS_PER_MS,
  };
}

/** Converts milliseconds since 1970. The nanos of a Timestamp are never negative, also before 1970. */
export function msToTimestamp(ms: number): Timestamp {
  const whole = Math.floor(ms);
  const seconds = Math.floor(whole / 1000);
  return {
    seconds: BigInt(seconds),
    nanos: (whole - seconds * 1000) * NANOS_PER_MS,
  };
}
