package dev.holdfast.client;

/**
 * No answer within the time limit, or an answer that does not say whether the call was carried out.
 * {@link #reason} has the last reason. A new acquire is safe: the client releases a late grant.
 */
public final class UnavailableException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  UnavailableException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }
}
