package dev.holdfast.client;

import dev.holdfast.v1.LeaseRenewal;
import dev.holdfast.v1.SessionEndCause;
import dev.holdfast.v1.SessionEvent;
import org.jspecify.annotations.Nullable;

/** A lease in one session. */
final class LeaseOwner implements CommandOwner {
  private final HeldLease lease;
  private final long number;
  private final Tasks tasks;

  LeaseOwner(HeldLease lease, long number, Tasks tasks) {
    this.lease = lease;
    this.number = number;
    this.tasks = tasks;
  }

  @Override
  public @Nullable CommandOwner event(SessionEvent event, Receipt receipt, Session session) {
    if (event.hasRenewalFailed()) {
      lease.confirm(Deadlines.of(receipt, event.getRenewalFailed().getExpireOffset(), lease.ttl));
      tasks.renewalFailed(lease);
    } else if (event.hasEnded() && speaks(session)) {
      lease.lose(causeOf(event.getEnded().getCause()));
    }
    return null;
  }

  @Override
  public void renewed(LeaseRenewal renewal, Receipt receipt) {
    tasks.leases.changeTtl(lease, Durations.nanos(renewal.getTtl()));
    lease.confirm(Deadlines.of(receipt, renewal.getExpireOffset(), lease.ttl));
  }

  /** After an attach was sent later, only the answer to the attach decides. */
  private boolean speaks(Session session) {
    Session home = lease.home;
    boolean isOld = home != null && session.number < home.number;
    boolean isOlderAttach = home == session && lease.number != number;
    return !isOld && !isOlderAttach;
  }

  private static LossCause causeOf(SessionEndCause cause) {
    switch (cause) {
      case SESSION_END_CAUSE_EXPIRED:
        return LossCause.EXPIRED;
      case SESSION_END_CAUSE_REVOKED:
        return LossCause.REVOKED;
      case SESSION_END_CAUSE_STORE_RESET:
        return LossCause.STORE_RESET;
      case SESSION_END_CAUSE_STORE_UNAVAILABLE:
        return LossCause.STORE_UNAVAILABLE;
      case SESSION_END_CAUSE_RELEASED:
        return LossCause.RELEASED;
      case SESSION_END_CAUSE_SUPERSEDED:
        return LossCause.SUPERSEDED;
      default:
        return LossCause.UNRECOGNIZED;
    }
  }
}
