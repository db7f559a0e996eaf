package dev.holdfast.client;

import java.util.concurrent.ThreadLocalRandom;

/**
 * The pauses before the next attempt, with full jitter so that thousands of clients do not come at
 * once.
 */
final class Pauses {
  static final long SHORTEST = Durations.millis(Numbers.Retry.SHORTEST_PAUSE_MS);
  static final long LONGEST = Durations.millis(Numbers.Retry.LONGEST_BACKOFF_MS);

  private Pauses() {}

  /**
   * The pause before the next session.
   *
   * @param failures the number of sessions in a row that had no first response
   * @param advised the delay that the server advises, or 0
   * @param untilNearestDeadline the time to the nearest deadline of a held lease
   */
  static long beforeSession(int failures, long advised, long untilNearestDeadline) {
    long longest =
        failures == 0
            ? Durations.millis(Numbers.Session.LONGEST_PAUSE_AFTER_BREAK_MS)
            : backoff(failures);
    long limit =
        Math.min(
            longest,
            untilNearestDeadline / Numbers.Session.PAUSE_AFTER_BREAK_IS_DEADLINE_DIVIDED_BY);
    long pause = Math.max(random(limit), Math.min(advised, LONGEST));
    return beforeDeadline(pause, untilNearestDeadline);
  }

  /**
   * The pause, or less, so that a share of the time to the deadline of a lease is left for other
   * attempts to attach to the lease.
   */
  static long beforeDeadline(long pause, long untilDeadline) {
    long longest = (long) (untilDeadline * Numbers.Retry.ATTACH_SHARE);
    return Math.max(SHORTEST, Math.min(pause, longest));
  }

  /**
   * The pause before a command or a call is repeated.
   *
   * @param attempts the number of failed attempts in a row
   * @param advised the delay that the server advises, or 0
   */
  static long beforeRepeat(int attempts, long advised) {
    return Math.max(SHORTEST, Math.max(Math.min(advised, LONGEST), random(backoff(attempts))));
  }

  private static long backoff(int failures) {
    long limit = Durations.millis(Numbers.Retry.FIRST_BACKOFF_MS) << Math.min(failures, 10);
    return Math.min(LONGEST, limit);
  }

  private static long random(long limit) {
    return limit <= 0 ? 0 : ThreadLocalRandom.current().nextLong(limit + 1);
  }
}
