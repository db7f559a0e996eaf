package dev.holdfast.client;

/** NOT_ALLOWED: the policy of the server refuses the call to this caller. */
public final class NotAllowedException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  NotAllowedException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }
}
