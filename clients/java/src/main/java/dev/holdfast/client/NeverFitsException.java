package dev.holdfast.client;

/** NEVER_FITS: more permits are wanted than the semaphore has. */
public final class NeverFitsException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  NeverFitsException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }

  /** The limit in force. */
  public int limit() {
    return number("limit");
  }
}
