import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import type { Timestamp } from '../../generated/typescript/google/protobuf/timestamp';

interface Encoder<Message> {
  encode(message: Message, writer: BinaryWriter): BinaryWriter;
}

/**
 * Serializes all messages with one writer. The generated code creates a writer for each message, and each writer costs
 * three buffers and a copy.
 */
export function serializer<Message>({ encode }: Encoder<Message>): (message: Message) => Buffer {
  let writer = new BinaryWriter();
  return (message) => {
    try {
      const bytes = encode(message, writer).finish();
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    } catch (error) {
      // The old writer contains a part of the failed message, which would begin the next message.
      writer = new BinaryWriter();
      throw error;
    }
  };
}

/** As `serializer`, for messages that go to many clients: serializes each message object once. */
export function sharedSerializer<Message extends object>(
  encoder: Encoder<Message>,
): (message: Message) => Buffer {
  const serialize = serializer(encoder);
  const known = new WeakMap<Message, Buffer>();
  return (message) => {
    let bytes = known.get(message);
    if (bytes === undefined) known.set(message, (bytes = serialize(message)));
    return bytes;
  };
}

/** The largest span that google.protobuf.Duration allows: 10,000 years. */
const MAX_SECONDS = 315_576_000_000n;
const MAX_NANOS = 999_999_999;
const NANOS_PER_MS = 1e6;
const NANOS_PER_US = 1000;
const US_PER_SECOND = 1_000_000;
/** The years 1 and 9999, the bounds of google.protobuf.Timestamp. */
const MIN_TIMESTAMP_SECONDS = -62_135_596_800n;
const MAX_TIMESTAMP_SECONDS = 253_402_300_799n;

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

/**
 * Converts milliseconds since 1970, exact to the microsecond below 2^42 ms (the year 2109): the store's clock counts
 * microseconds, and a client may send an `enqueue_time` back. The nanos of a Timestamp are never negative, also before 1970.
 */
export function msToTimestamp(ms: number): Timestamp {
  const us = Math.round(ms * 1000);
  const seconds = Math.floor(us / US_PER_SECOND);
  return {
    seconds: BigInt(seconds),
    nanos: (us - seconds * US_PER_SECOND) * NANOS_PER_US,
  };
}

/** Converts to microseconds since 1970, rounded down. Undefined: a field is out of range. */
export function timestampToUs({ seconds, nanos }: Timestamp): bigint | undefined {
  if (seconds < MIN_TIMESTAMP_SECONDS || seconds > MAX_TIMESTAMP_SECONDS) return undefined;
  if (!(nanos >= 0 && nanos <= MAX_NANOS)) return undefined;
  return seconds * BigInt(US_PER_SECOND) + BigInt(Math.floor(nanos / NANOS_PER_US));
}
