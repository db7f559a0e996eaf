package dev.holdfast.client;

import dev.holdfast.v1.LockMode;

/** A request for a lock. */
public final class LockRequest extends AcquireRequest<LockRequest> {
  LockRequest(Client client, Wanted wanted) {
    super(client, wanted);
  }

  @Override
  LockRequest with(Client client, Wanted wanted) {
    return new LockRequest(client, wanted);
  }

  /** Holders of a shared lock hold it together. Default: exclusive. */
  public LockRequest shared() {
    return with(copy -> copy.mode = LockMode.LOCK_MODE_SHARED);
  }
}
