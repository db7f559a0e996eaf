package dev.holdfast.client;

/** INVALID_FIELD, REQUEST_MISMATCH: the request is wrong. {@link #violations} names the fields. */
public final class InvalidRequestException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  InvalidRequestException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }
}
