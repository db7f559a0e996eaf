package dev.holdfast.client;

import com.google.protobuf.Duration;

/** Times of the client are nanoseconds in a long. Sums and conversions saturate. */
final class Durations {
  /** Later than every other time. */
  static final long NEVER = Long.MAX_VALUE;

  private Durations() {}

  static long millis(long millis) {
    return millis * 1_000_000;
  }

  static long nanos(java.time.Duration duration) {
    try {
      return duration.toNanos();
    } catch (ArithmeticException e) {
      return duration.isNegative() ? -NEVER : NEVER;
    }
  }

  static long nanos(Duration duration) {
    return nanos(javaDuration(duration));
  }

  static java.time.Duration javaDuration(Duration duration) {
    return java.time.Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
  }

  static Duration proto(long nanos) {
    return Duration.newBuilder()
        .setSeconds(nanos / 1_000_000_000)
        .setNanos((int) (nanos % 1_000_000_000))
        .build();
  }

  /** The sum of a time and a span. */
  static long plus(long time, long span) {
    long sum = time + span;
    if (((time ^ sum) & (span ^ sum)) < 0) {
      return span > 0 ? NEVER : -NEVER;
    }
    return sum;
  }

  /** A span, several times. */
  static long times(long span, long count) {
    return span > NEVER / count ? NEVER : span * count;
  }

  /** The time from {@code now} until {@code time}. */
  static long until(long time, long now) {
    return plus(time, -now);
  }

  /** Refuses a negative duration of a caller. */
  static long checked(java.time.Duration duration, String option) {
    if (duration.isNegative()) {
      throw new IllegalArgumentException(option + " must not be negative");
    }
    return nanos(duration);
  }
}
