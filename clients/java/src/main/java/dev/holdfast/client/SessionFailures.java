package dev.holdfast.client;

import io.grpc.Status;

/** Counts the failures of sessions in a row, and plans the next session. Belongs to the loop. */
final class SessionFailures {
  private final int addressCount;

  /** Sessions in a row without a first response. */
  private int failures;

  /** Refused credentials in a row. */
  private int refusals;

  /** Whether a server has served this client once. */
  private boolean hasStarted;

  SessionFailures(int addressCount) {
    this.addressCount = addressCount;
  }

  /** A session has had its first response. */
  void reset() {
    failures = 0;
    refusals = 0;
    hasStarted = true;
  }

  /** A session has had no first response, or could not be opened. */
  void count() {
    failures++;
  }

  /** Whether an immediate next session cannot help. Call once for each failed session. */
  boolean isRefused(boolean wasStarted, HoldfastException error) {
    if (error.reason().equals("INVALID_FIELD") || error.reason().equals("NOT_ALLOWED")) {
      return true;
    }
    if (error.code() == Status.Code.UNAUTHENTICATED.value() && !wasStarted) {
      // After a first session the next credential may be right, and leases and waits are worth the
      // attempts.
      refusals++;
      return refusals > 1 && !hasStarted;
    }
    return error.code() == Status.Code.UNIMPLEMENTED.value() && failures >= addressCount;
  }

  /**
   * The pause before the next session.
   *
   * @param error why the session before has ended
   */
  long pause(HoldfastException error, long untilNearestDeadline) {
    boolean isAdvised =
        error.reason().equals("OVERLOADED") || error.reason().equals("QUOTA_EXCEEDED");
    long advised = isAdvised ? Math.min(error.retryAfterNanos(), Pauses.LONGEST) : 0;
    return Math.max(Pauses.beforeSession(failures, untilNearestDeadline), advised);
  }
}
