package dev.holdfast.client;

/** IMPORT_CONFLICT: another import was committed first. This import changed nothing. */
public final class ImportConflictException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  ImportConflictException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }
}
