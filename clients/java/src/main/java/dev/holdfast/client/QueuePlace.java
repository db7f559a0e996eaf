package dev.holdfast.client;

import dev.holdfast.v1.CommandQueued;

/** The place of a waiting request in its queue. */
public final class QueuePlace {
  private final int position;
  private final int waiterCount;
  private final String holderId;

  QueuePlace(CommandQueued queued) {
    this.position = queued.getPosition();
    this.waiterCount = queued.getWaiterCount();
    this.holderId = queued.getHolder().getHolderId();
  }

  /** The first waiter has position 1. */
  public int position() {
    return position;
  }

  /** The number of waiters, with this one. */
  public int waiterCount() {
    return waiterCount;
  }

  /** A present holder. Empty if there is none, or if the caller may not read the name. */
  public String holderId() {
    return holderId;
  }

  @Override
  public String toString() {
    return "place " + position + " of " + waiterCount;
  }
}
