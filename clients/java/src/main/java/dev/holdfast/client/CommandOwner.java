package dev.holdfast.client;

import dev.holdfast.v1.LeaseRenewal;
import dev.holdfast.v1.SessionEvent;
import org.jspecify.annotations.Nullable;

/** The owner of a command, and later of its lease. */
interface CommandOwner {
  /** Whether the command need not be sent any more, if it waits. */
  default boolean isOver() {
    return false;
  }

  /**
   * Returns the owner of the lease after {@code granted}. Without one the session forgets the
   * command at its last event.
   */
  @Nullable CommandOwner event(SessionEvent event, Receipt receipt, Session session);

  default void renewed(LeaseRenewal renewal, Receipt receipt) {}
}
