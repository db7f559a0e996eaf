import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import type { Timestamp } from '../../generated/typescript/google/protobuf/timestamp';

/** What google.protobuf.Duration itself allows: 10,000 years. */
const LARGEST_SECONDS = 315_576_000_000n;
const LARGEST_NANOS = 999_999_999;
const NANOS_PER_MS = 1e6;

/**
 * Milliseconds, with fractions; undefined if the message breaks the rules of its type: seconds and nanos in
 * their ranges, and of the same sign.
 */
export function durationToMs(duration: Duration): number | undefined {
  const { seconds, nanos } = duration;
  if (seconds > LARGEST_SECONDS || seconds < -LARGEST_SECONDS) return undefined;
  if (!(nanos >= -LARGEST_NANOS && nanos <= LARGEST_NANOS)) return undefined;
  if ((seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)) return undefined;
  return Number(seconds) * 1000 + nanos / NANOS_PER_MS;
}

/**
 * A span as a Duration, rounded down to the whole millisecond: an `expire_offset` must never be later than
 * the truth, and every other span that is sent is a whole number anyhow.
 */
export function msToDuration(ms: number): Duration {
  const whole = Math.floor(ms);
  const seconds = Math.trunc(whole / 1000);
  return {
    seconds: BigInt(seconds),
    nanos: (whole - seconds * 1000) * NANOS_PER_MS,
  };
}

/** An instant, in milliseconds since 1970. The nanos of a Timestamp count forwards, before 1970 too. */
export function msToTimestamp(ms: number): Timestamp {
  const whole = Math.floor(ms);
  const seconds = Math.floor(whole / 1000);
  return {
    seconds: BigInt(seconds),
    nanos: (whole - seconds * 1000) * NANOS_PER_MS,
  };
}
