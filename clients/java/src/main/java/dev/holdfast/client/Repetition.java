package dev.holdfast.client;

import io.grpc.Status;
import java.util.OptionalLong;

/**
 * Decides whether a failed attempt is repeated. All calls and streams share these rules. Belongs to
 * its call.
 */
final class Repetition {
  static final long SILENCE = Durations.millis(Numbers.Calls.SILENCE_MS);

  private final boolean isIdempotent;

  /** Failed attempts in a row. */
  private int failures;

  /** Refused credentials in a row. */
  private int refusals;

  /**
   * @param isIdempotent whether a second run does no harm
   */
  Repetition(boolean isIdempotent) {
    this.isIdempotent = isIdempotent;
  }

  /** The server has answered, so the next failure is a first one. */
  void answered() {
    failures = 0;
    refusals = 0;
  }

  /**
   * The pause before the next attempt. Empty: a repetition does not help.
   *
   * @param wasSent false: the attempt has failed before it reached the network
   */
  OptionalLong pauseAfter(HoldfastException error, boolean wasSent) {
    if (wasSent && Numbers.Reasons.CREDENTIAL_IS_FETCHED_ONCE_MORE.contains(error.reason())) {
      refusals++;
      return refusals == 1 ? OptionalLong.of(0) : OptionalLong.empty();
    }
    if (wasSent && !isRepeated(error)) {
      return OptionalLong.empty();
    }
    failures++;
    return OptionalLong.of(Pauses.beforeRepeat(failures, error.retryAfterNanos()));
  }

  private boolean isRepeated(HoldfastException error) {
    String reason = error.reason();
    if (Numbers.Reasons.CALL_IS_REPEATED.contains(reason)) {
      return true;
    }
    if (!isIdempotent) {
      return false;
    }
    if (Numbers.Reasons.IDEMPOTENT_CALL_IS_REPEATED.contains(reason) || isBroken(error)) {
      return true;
    }
    // A reset stream is INTERNAL, and so is a message that can never be encoded: repeated once.
    return reason.isEmpty() && error.code() == Status.Code.INTERNAL.value() && failures == 0;
  }

  /**
   * Whether the next attempt needs another connection. A status without a reason comes from the
   * gRPC library or a proxy. An unknown reason is treated as its code says.
   */
  static boolean isBroken(HoldfastException error) {
    return error.code() == Status.Code.UNAVAILABLE.value() || isLate(error);
  }

  static boolean isLate(HoldfastException error) {
    return error.reason().isEmpty() && error.code() == Status.Code.DEADLINE_EXCEEDED.value();
  }

  /** An attempt has no answer within its time. */
  static HoldfastException late(String text) {
    return Errors.of(text, new ErrorFacts("", Status.Code.DEADLINE_EXCEEDED.value()), null);
  }

  /**
   * The longest time of one attempt. A call that may be repeated leaves a part of its time to the
   * next attempts, because the server may be silent.
   */
  static long attemptNanos(long left, boolean isIdempotent) {
    if (!isIdempotent) {
      return left;
    }
    return Math.min(left, Math.max(SILENCE, (long) (left * Numbers.Calls.ATTEMPT_SHARE)));
  }
}
