package dev.holdfast.client;

import io.grpc.Status;
import java.util.function.IntSupplier;

/** Counts the failures of sessions in a row, and plans the next session. Belongs to the loop. */
final class SessionFailures {
  private final IntSupplier addressCount;

  /** Sessions in a row without a first response. */
  private int failures;

  /** Refused credentials in a row. */
  private int refusals;

  /** Whether a server has served this client once. */
  private boolean hasStarted;

  SessionFailures(IntSupplier addressCount) {
    this.addressCount = addressCount;
  }

  /** A session has had its first response. */
  void reset() {
    failures = 0;
    refusals = 0;
    hasStarted = true;
  }

  boolean hasStarted() {
    return hasStarted;
  }

  /** A session has had no first response, or could not be opened. */
  void count() {
    failures++;
  }

  /** Whether a next session cannot help. Call once for each failed session. */
  boolean isRefused(HoldfastException error) {
    if (hasStarted) {
      // Credential, policy and servers were right once, and leases and waits are worth the
      // attempts.
      return false;
    }
    if (Numbers.Reasons.CONNECT_FAILS.contains(error.reason()) || isForbidden(error)) {
      return true;
    }
    if (error.code() == Status.Code.UNAUTHENTICATED.value()) {
      refusals++;
      return refusals > 1;
    }
    return error.code() == Status.Code.UNIMPLEMENTED.value() && failures >= addressCount.getAsInt();
  }

  /** The answer of a proxy, which gives no reason. */
  private static boolean isForbidden(HoldfastException error) {
    return error.reason().isEmpty() && error.code() == Status.Code.PERMISSION_DENIED.value();
  }

  /**
   * The pause before the next session.
   *
   * @param advised the delay that the server advises, or 0
   */
  long pause(long advised, long untilNearestDeadline) {
    return Pauses.beforeSession(failures, advised, untilNearestDeadline);
  }
}
