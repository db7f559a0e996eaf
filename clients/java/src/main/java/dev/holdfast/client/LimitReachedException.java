package dev.holdfast.client;

/** QUOTA_EXCEEDED, QUEUE_FULL, STORE_FULL: a bound is reached. */
public final class LimitReachedException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  LimitReachedException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }
}
