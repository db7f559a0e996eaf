package dev.holdfast.client;

import dev.holdfast.v1.LeaseReleased;
import org.jspecify.annotations.Nullable;

/** The answer to a release. */
final class ReleaseAnswer {
  /** The lease is held elsewhere, and is not this client's to end. */
  static final ReleaseAnswer HELD_ELSEWHERE = new ReleaseAnswer(false, null);

  /** Whether the work was protected until this release. */
  final boolean isReleased;

  /** Set: the server ended the lease before its deadline, and others may have held it since. */
  final @Nullable LossCause earlyEnd;

  private ReleaseAnswer(boolean isReleased, @Nullable LossCause earlyEnd) {
    this.isReleased = isReleased;
    this.earlyEnd = earlyEnd;
  }

  static ReleaseAnswer of(LeaseReleased message) {
    return new ReleaseAnswer(
        message.getReleased(), message.getReleased() ? null : earlyEndOf(message));
  }

  /** An expired lease ends after the deadline, so it is no early end. */
  private static @Nullable LossCause earlyEndOf(LeaseReleased message) {
    switch (message.getLossCause()) {
      case LOSS_CAUSE_REVOKED:
        return LossCause.REVOKED;
      case LOSS_CAUSE_STORE_RESET:
        return LossCause.STORE_RESET;
      default:
        return null;
    }
  }
}
