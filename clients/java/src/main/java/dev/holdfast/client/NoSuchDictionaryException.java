package dev.holdfast.client;

/** NO_SUCH_DICTIONARY: there is no dictionary of this name. */
public final class NoSuchDictionaryException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  NoSuchDictionaryException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }
}
