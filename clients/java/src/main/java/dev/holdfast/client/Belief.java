package dev.holdfast.client;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How long this process may rely on one lease, and why no longer. Thread-safe, but only the loop
 * moves the deadline.
 */
final class Belief {
  /** The end of a belief. */
  private static final class End {
    final LossCause cause;

    /** Whether this process has released the lease, so that the end is no loss. */
    final boolean isOwnRelease;

    End(LossCause cause, boolean isOwnRelease) {
      this.cause = cause;
      this.isOwnRelease = isOwnRelease;
    }
  }

  private final LongSupplier clock;
  private final long holdUntil;
  private final Runnable onEnd;
  private final AtomicReference<@Nullable End> end = new AtomicReference<>();
  private volatile long deadline;

  /**
   * @param holdUntil the end of the longest hold, or NEVER
   * @param onEnd called once, by the thread that noticed the end
   */
  Belief(long deadline, long holdUntil, LongSupplier clock, Runnable onEnd) {
    this.deadline = deadline;
    this.holdUntil = holdUntil;
    this.clock = clock;
    this.onEnd = onEnd;
  }

  long deadline() {
    return deadline;
  }

  /** The deadline, or the end of the longest hold. */
  long endsAt() {
    return Math.min(deadline, holdUntil);
  }

  /** Compares the clock too. */
  boolean isOver() {
    if (end.get() == null) {
      long now = clock.getAsLong();
      if (now >= deadline) {
        lose(LossCause.DEADLINE);
      } else if (now >= holdUntil) {
        lose(LossCause.MAX_HOLD);
      }
    }
    return end.get() != null;
  }

  /** The latest deadline counts, and a deadline that has passed stays passed. */
  void confirm(long until) {
    if (!isOver() && until > deadline) {
      deadline = until;
    }
  }

  void lose(LossCause cause) {
    end(new End(cause, false));
  }

  /** This process releases the lease. */
  void release() {
    end(new End(LossCause.RELEASED, true));
  }

  /** Only the first end counts. A deadline that has passed is an earlier end. */
  private void end(End next) {
    if (end.get() != null) {
      return;
    }
    End first = clock.getAsLong() >= deadline ? new End(LossCause.DEADLINE, false) : next;
    if (end.compareAndSet(null, first)) {
      onEnd.run();
    }
  }

  /** Why the belief has ended, also by a release of this process. */
  LossCause cause() {
    End known = end.get();
    return known == null ? LossCause.UNRECOGNIZED : known.cause;
  }

  /** The cause of the loss. Null: the lease is held, or this process has released the lease. */
  @Nullable LossCause loss() {
    End known = isOver() ? end.get() : null;
    return known == null || known.isOwnRelease ? null : known.cause;
  }
}
