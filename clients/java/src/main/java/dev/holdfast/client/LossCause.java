package dev.holdfast.client;

/** Why a lease is over. A newer client may have further causes. */
public enum LossCause {
  /** The deadline on the own clock has passed. */
  DEADLINE("its deadline passed without a renewal"),
  /** The lease was held for longer than {@code maxHold} allows. */
  MAX_HOLD("it was held for longer than maxHold"),
  /** The client was closed while the lease was held. */
  CLOSED("the client was closed"),
  /** The server has answered that the lease is not held. */
  LEASE_NOT_HELD("the server no longer knows it"),
  /** The server did not renew the lease in time. */
  EXPIRED("it was not renewed in time"),
  /** An operator revoked the lease, or a new policy does not allow its name. */
  REVOKED("an operator or a new policy revoked it"),
  /** The store lost its data. */
  STORE_RESET("the store lost it"),
  /** The server could not reach the store in time. */
  STORE_UNAVAILABLE("the store was not reached in time"),
  /** The lease was released, although this process has not asked for that. */
  RELEASED("it was released"),
  /** Another session attached to the lease. */
  SUPERSEDED("another session attached to it"),
  /** A newer server sent a cause that this client does not know. */
  UNRECOGNIZED("a newer server ended it for an unknown reason");

  final String text;

  LossCause(String text) {
    this.text = text;
  }

  /** Who noticed a loss with this cause. */
  public NoticedBy noticedBy() {
    boolean isOwn = this == DEADLINE || this == MAX_HOLD || this == CLOSED;
    return isOwn ? NoticedBy.CLIENT : NoticedBy.SERVER;
  }
}
