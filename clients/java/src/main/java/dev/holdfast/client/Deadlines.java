package dev.holdfast.client;

import com.google.protobuf.Duration;

/**
 * The deadline of a lease on the own monotonic clock. The clocks of client and server need not
 * agree.
 */
final class Deadlines {
  private Deadlines() {}

  /**
   * The time until which this process may rely on a lease. Never later than the true end of the
   * lease.
   *
   * @param receipt the times of the message that has the offset
   * @param expireOffset the offset, counted from the heartbeat that the message names
   * @param ttlNanos the {@code ttl} of the lease
   */
  static long of(Receipt receipt, Duration expireOffset, long ttlNanos) {
    return Math.min(
        Durations.plus(receipt.sentAt, Durations.nanos(expireOffset)),
        Durations.plus(receipt.receivedAt, ttlNanos));
  }
}
