package dev.holdfast.client;

/** DICTIONARY_EXISTS: the dictionary has another profile. */
public final class DictionaryExistsException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  DictionaryExistsException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }
}
