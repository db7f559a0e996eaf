package dev.holdfast.client;

/** LIMIT_MISMATCH: the semaphore has another limit than the caller demands. */
public final class LimitMismatchException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  LimitMismatchException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }

  /** The limit in force. */
  public int limit() {
    return number("limit");
  }

  /** The limit that the caller demands. */
  public int expectedLimit() {
    return number("expected_limit");
  }
}
