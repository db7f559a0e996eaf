package dev.holdfast.client;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongSupplier;

/**
 * A monotonic clock that also counts the time while the machine was suspended. {@link
 * System#nanoTime} does not count that time on Linux, so a lease would seem valid after a suspend.
 * The uptime of Linux counts it. On other systems the clock is {@code nanoTime}. Steps of the wall
 * clock change nothing.
 */
final class SuspendAwareClock {
  private static final Path UPTIME = Path.of("/proc/uptime");
  private static final long UNKNOWN = Long.MIN_VALUE;

  /**
   * The clocks are compared at most this often, because reading the uptime takes some microseconds.
   */
  private static final long COMPARISON_NANOS = Durations.millis(10);

  /** A smaller difference is the resolution of the clocks, and no suspend. */
  private static final long RESOLUTION_NANOS = Durations.millis(100);

  private final LongSupplier monotonic;
  private final LongSupplier sinceBoot;
  private final long base;
  private final long offset;
  private volatile long comparedAt;
  private volatile long suspended;

  /** The clock of this machine. */
  static SuspendAwareClock system() {
    return new SuspendAwareClock(System::nanoTime, SuspendAwareClock::uptime);
  }

  /**
   * @param sinceBoot a clock that counts a suspend, or Long.MIN_VALUE if the platform has none
   */
  SuspendAwareClock(LongSupplier monotonic, LongSupplier sinceBoot) {
    this.monotonic = monotonic;
    this.sinceBoot = sinceBoot;
    this.base = monotonic.getAsLong();
    this.comparedAt = base;
    long boot = sinceBoot.getAsLong();
    this.offset = boot == UNKNOWN ? UNKNOWN : boot - base;
  }

  /** Nanoseconds since the clock was made. */
  long now() {
    long now = monotonic.getAsLong();
    if (offset != UNKNOWN && now - comparedAt >= COMPARISON_NANOS) {
      compare(now);
    }
    return now - base + suspended;
  }

  private synchronized void compare(long now) {
    if (now - comparedAt < COMPARISON_NANOS) {
      return;
    }
    long boot = sinceBoot.getAsLong();
    if (boot != UNKNOWN) {
      long difference = boot - now - offset;
      if (difference > suspended + RESOLUTION_NANOS) {
        suspended = difference;
      }
    }
    comparedAt = now;
  }

  private static long uptime() {
    try {
      String text = Files.readString(UPTIME);
      int end = text.indexOf(' ');
      return (long) (Double.parseDouble(text.substring(0, end)) * 1e9);
    } catch (IOException | RuntimeException e) {
      return UNKNOWN;
    }
  }
}
