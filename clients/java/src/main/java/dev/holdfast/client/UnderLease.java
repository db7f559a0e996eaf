package dev.holdfast.client;

import org.jspecify.annotations.Nullable;

/** Runs work under a lease. */
final class UnderLease {
  private UnderLease() {}

  /**
   * Runs the work, waits for its end, and releases the lease. If the lease was lost before the end
   * of the work, throws a LeaseLostException with the work's exception as its cause. A failed
   * release never hides the work's exception.
   */
  static <T extends @Nullable Object, X extends Exception> T run(
      Lease handle, LeaseFunction<T, X> work) throws X {
    HeldLease lease = handle.held;
    BodyThread thread = new BodyThread();
    if (!lease.begin(thread)) {
      LossCause loss = lease.lossCause();
      lease.leave();
      throw new LeaseLostException(lease.name(), loss == null ? LossCause.RELEASED : loss, null);
    }
    lease.onLost(lost -> thread.interrupt());
    T result;
    try {
      result = work.apply(handle);
    } catch (Throwable failure) {
      thread.end();
      LossCause loss = lease.lossCause();
      lease.leave();
      if (loss != null && !(failure instanceof LeaseLostException)) {
        throw new LeaseLostException(lease.name(), loss, failure);
      }
      throw failure;
    }
    thread.end();
    LossCause loss = lease.lossCause();
    LossCause early = lease.leave();
    if (loss != null || early != null) {
      throw new LeaseLostException(lease.name(), loss != null ? loss : early, null);
    }
    return result;
  }
}
