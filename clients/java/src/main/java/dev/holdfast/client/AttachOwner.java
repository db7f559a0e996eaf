package dev.holdfast.client;

import dev.holdfast.v1.SessionEvent;
import org.jspecify.annotations.Nullable;

/** The attach of a lease in the next session. */
final class AttachOwner implements CommandOwner {
  private final HeldLease lease;
  private final Tasks tasks;

  AttachOwner(HeldLease lease, Tasks tasks) {
    this.lease = lease;
    this.tasks = tasks;
  }

  /** Thousands of attaches may wait to be sent, while the work of their leases ends. */
  @Override
  public boolean isOver() {
    return lease.isOver();
  }

  @Override
  public @Nullable CommandOwner event(SessionEvent event, Receipt receipt, Session session) {
    switch (event.getEventCase()) {
      case GRANTED:
        return granted(event, receipt, session);
      case FAILED:
        failed(Errors.ofCommand(event.getFailed()), session);
        return null;
      default:
        return null;
    }
  }

  private @Nullable CommandOwner granted(SessionEvent event, Receipt receipt, Session session) {
    dev.holdfast.v1.Lease message = event.getGranted().getLease();
    long ttl = Durations.nanos(message.getTtl());
    lease.confirm(Deadlines.of(receipt, message.getExpireOffset(), ttl));
    if (lease.isOver() || message.getFencingToken() != lease.token()) {
      tasks.releases.release(lease.id, lease.ttl);
      return null;
    }
    tasks.leases.changeTtl(lease, ttl);
    if (lease.home == session) {
      tasks.attached(lease, session, event.getCommandId());
    }
    return new LeaseOwner(lease, event.getCommandId(), tasks);
  }

  /** After every error except these two the deadline decides. */
  void failed(HoldfastException error, Session session) {
    if (lease.home != session || lease.isOver()) {
      return;
    }
    switch (error.reason()) {
      case "LEASE_NOT_HELD":
        lease.lose(LossCause.LEASE_NOT_HELD);
        break;
      case "SUPERSEDED":
        lease.lose(LossCause.SUPERSEDED);
        break;
      default:
        tasks.repeatAttach(lease, error, session);
    }
  }
}
