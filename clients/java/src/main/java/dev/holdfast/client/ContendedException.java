package dev.holdfast.client;

/** CONTENDED: the lock or the permits were not granted within the wait. Nothing is held. */
public final class ContendedException extends HoldfastException {
  private static final long serialVersionUID = 1L;

  ContendedException(String message, ErrorFacts facts, Throwable cause) {
    super(message, facts, cause);
  }

  /** One current holder. Empty if the caller may not read the name. */
  public String holderId() {
    return metadata().getOrDefault("holder_id", "");
  }

  /** The number of waiters. */
  public int waiterCount() {
    return number("waiter_count");
  }
}
