package dev.holdfast.client;

/** NO_CREDENTIAL, BAD_CREDENTIAL: the server does not know the caller. */
public final class CredentialException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  CredentialException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }
}
