package dev.holdfast.client;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A held lock, or held permits. A lease is over when it is released, when its deadline on the own
 * clock passes without a renewal, or when the server tells its end. A lease that is over stays
 * over. Belongs to no thread: any thread may call all methods. A lease that the program forgets
 * without a release is renewed until the client is closed, with one warning in the log.
 *
 * <pre>{@code
 * try (Lease lease = hf.lock("report").acquire()) {
 *   for (Step step : steps) {
 *     lease.check();
 *     step.run(lease.fencingToken());
 *   }
 * }
 * }</pre>
 */
public final class Lease implements AutoCloseable {
  /** Its thread, a daemon, has work while the program has leases. */
  private static final Cleaner CLEANER = Cleaner.create();

  final HeldLease held;

  Lease(HeldLease held) {
    this.held = held;
    held.watchHandle(CLEANER.register(this, held::forgotten));
  }

  /** The name of the lock or the semaphore. */
  public String name() {
    return held.name();
  }

  /** The number of permits, 1 for a lock. */
  public int permits() {
    return held.permits();
  }

  /**
   * A number that is greater than the token of every earlier lease of the name. Pass the token to
   * the protected store, which refuses smaller tokens.
   *
   * @throws LeaseLostException if the lease is over, as {@link #check} does
   */
  public long fencingToken() {
    return held.fencingToken();
  }

  /**
   * Call before each step of the work. Compares the clock, because a timer may be late.
   *
   * @throws LeaseLostException if the lease is over
   */
  public void check() {
    held.check();
  }

  /** Whether this process may rely on the lease. Compares the clock. */
  public boolean isValid() {
    return held.isValid();
  }

  /** The time until the deadline. Zero: the lease is over. A renewal makes the time longer. */
  public Duration remaining() {
    return held.remaining();
  }

  /** The loss of the lease. Empty: the lease is held, or this process has released the lease. */
  public Optional<LeaseLostException> loss() {
    return held.loss();
  }

  /**
   * Calls the listener once if the lease is lost, at once if it is lost already. Not called after a
   * release by this process. Runs on a thread of the client for such calls.
   */
  public void onLost(Consumer<LeaseLostException> listener) {
    held.onLost(listener);
  }

  /**
   * A future of the loss, for example beside the work in {@code CompletableFuture.anyOf}. Completes
   * normally, as {@link #onLost} is called, and never after a release by this process. The future
   * is the caller's: completing or cancelling it changes nothing of the lease. Each call makes a
   * future that the lease keeps until its end, so keep the future in a loop.
   */
  public CompletableFuture<LeaseLostException> lost() {
    CompletableFuture<LeaseLostException> lost = held.lost();
    // Whoever keeps the future has not forgotten the lease.
    lost.whenComplete((loss, error) -> Reference.reachabilityFence(this));
    return lost;
  }

  /**
   * Releases the lease, after the work has ended. Also after a loss. Waits up to 5 s for the
   * answer; the release is repeated until the deadline has passed.
   *
   * @return true if the work was protected until this release
   * @throws HoldfastException if no answer came in time, or if the server refuses the release or
   *     the client
   */
  public boolean release() {
    return held.release();
  }

  /** Releases the lease as {@link #release} does, without waiting. */
  public CompletableFuture<Boolean> releaseAsync() {
    return held.releaseAsync();
  }

  /**
   * Replaces the metadata that others see, and waits for the answer. Updates of one lease take
   * turns, and each has 10 s, its wait for the turn included. The value of a leader stays.
   *
   * @throws HoldfastException if the lease is over, if the server refuses the metadata, or if no
   *     answer comes in time: such an update may still be carried out, and the next update does not
   *     know of it
   */
  public void updateMetadata(Map<String, String> metadata) {
    held.updateMetadata(metadata);
  }

  /**
   * Releases the lease, and waits up to 5 s for the answer. A failed release is repeated in the
   * background, and is no error. After a loss returns at once, and the release goes on in the
   * background. Without effect after a release.
   *
   * @throws LeaseLostException if the lease was lost, and {@link #check} has not told so
   */
  @Override
  public void close() {
    held.close();
  }

  /** Shows no id, because the id is a secret. */
  @Override
  public String toString() {
    return held.toString();
  }
}
