package dev.holdfast.client;

/** NO_SUCH_SEMAPHORE: the semaphore has no limit yet. */
public final class NoSuchSemaphoreException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  NoSuchSemaphoreException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }
}
