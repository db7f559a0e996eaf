package dev.holdfast.client;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A held lock, or held permits. A lease is over when it is released, when its deadline on the own
 * clock passes without a renewal, or when the server tells its end. A lease that is over stays
 * over. Belongs to no thread: any thread may call all methods.
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
  /** A secret that belongs into no log. */
  final String id;

  private final String name;
  private final long token;
  private final int permits;

  /** Whether the metadata has the value of a leader. */
  final boolean isLeader;

  private final Tasks tasks;
  private final Belief belief;
  private final LossReport report;
  private volatile boolean isReleaseAsked;

  /** Guarded by the report: a thread of the user may hold the monitor of the lease. */
  private @Nullable BodyThread body;

  // The fields below belong to the loop.

  long ttl;

  /** The session that holds the lease, or that was last sent an attach. */
  @Nullable Session home;

  /** The number of the lease in {@link #home}. 0 until the attach is answered. */
  long number;

  int attachAttempts;

  /** The metadata that others see. */
  Map<String, String> shown;

  final Updates updates = new Updates();

  @Nullable CompletableFuture<ReleaseAnswer> releaseAnswer;
  Loop.@Nullable Timer timer;

  Lease(dev.holdfast.v1.Lease message, long deadline, Wanted wanted, Tasks tasks) {
    this.id = message.getLeaseId();
    this.name = message.getName();
    this.token = message.getFencingToken();
    this.permits = message.getPermitCount();
    this.ttl = Durations.nanos(message.getTtl());
    this.tasks = tasks;
    this.isLeader = wanted.leaderValue != null;
    Map<String, String> metadata = wanted.allMetadata();
    this.shown = metadata == null ? Map.of() : metadata;
    Duration maxHold = wanted.maxHold;
    long holdUntil =
        maxHold == null ? Durations.NEVER : Durations.plus(tasks.now(), Durations.nanos(maxHold));
    this.belief = new Belief(deadline, holdUntil, tasks::now, this::ended);
    this.report = new LossReport(name, belief, tasks.callbacks);
  }

  /** The name of the lock or the semaphore. */
  public String name() {
    return name;
  }

  /** The number of permits, 1 for a lock. */
  public int permits() {
    return permits;
  }

  /**
   * A number that is greater than the token of every earlier lease of the name. Pass the token to
   * the protected store, which refuses smaller tokens.
   *
   * @throws LeaseLostException if the lease is over, as {@link #check} does
   */
  public long fencingToken() {
    check();
    return token;
  }

  /**
   * Call before each step of the work. Compares the clock, because a timer may be late.
   *
   * @throws LeaseLostException if the lease is over
   */
  public void check() {
    report.check();
  }

  /** Whether this process may rely on the lease. Compares the clock. */
  public boolean isValid() {
    return !isOver();
  }

  /** The time until the deadline. Zero: the lease is over. A renewal makes the time longer. */
  public Duration remaining() {
    if (isOver()) {
      return Duration.ZERO;
    }
    return Duration.ofNanos(Math.max(0, Durations.until(endsAt(), tasks.now())));
  }

  /** The loss of the lease. Empty: the lease is held, or this process has released the lease. */
  public Optional<LeaseLostException> loss() {
    return report.loss();
  }

  /**
   * Calls the listener once if the lease is lost, at once if it is lost already. Not called after a
   * release by this process. Runs on a thread of the client for such calls.
   */
  public void onLost(Consumer<LeaseLostException> listener) {
    report.add(listener);
  }

  /**
   * A future of the loss, for example beside the work in {@code CompletableFuture.anyOf}. Completes
   * normally, as {@link #onLost} is called, and never after a release by this process. The future
   * is the caller's: completing or cancelling it changes nothing of the lease. Each call makes a
   * future that the lease keeps until its end, so keep the future in a loop.
   */
  public CompletableFuture<LeaseLostException> lost() {
    return report.future();
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
    return Await.uninterruptibly(
        releaseAsync(), Durations.millis(Numbers.Limits.RELEASE_MS), this::noReleaseAnswer);
  }

  /** The error of a release that has no answer yet. */
  HoldfastException noReleaseAnswer() {
    String text = "no server has answered the release of " + Texts.quoted(name);
    return tasks.noAnswer(text, tasks.releases.lastError(id));
  }

  /** Releases the lease as {@link #release} does, without waiting. */
  public CompletableFuture<Boolean> releaseAsync() {
    return tasks.callbacks.copyOf(releaseNow()).thenApply(answer -> answer.isReleased);
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
    Map<String, String> given = Map.copyOf(metadata);
    update(
        before -> isLeader ? Leader.metadata(given, before.getOrDefault(Leader.VALUE, "")) : given);
  }

  /** Replaces the metadata by a change of those before, which the loop makes at its turn. */
  void update(UnaryOperator<Map<String, String>> change) {
    Await.answer(tasks.update(this, change));
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
    boolean isFirst = !isReleaseAsked;
    LossCause before = lossCause();
    LossCause early = leave();
    LossCause loss = before != null ? before : early;
    if (isFirst && loss != null) {
      report.throwUnlessTold(loss);
    }
  }

  /** Shows no id, because the id is a secret. */
  @Override
  public String toString() {
    return "Lease[name="
        + Texts.quoted(name)
        + ", fencingToken="
        + token
        + ", permits="
        + permits
        + "]";
  }

  /**
   * Releases the lease, and waits a short time for the answer. Returns a cause if the server ended
   * the lease before this release, so that others may have held it. After a loss the answer tells
   * nothing new, and may never come, so nobody waits for it. Never throws.
   */
  @Nullable LossCause leave() {
    boolean wasLost = lossCause() != null;
    CompletableFuture<ReleaseAnswer> answer = releaseNow();
    if (wasLost) {
      return null;
    }
    try {
      return Await.uninterruptibly(
              answer,
              Durations.millis(Numbers.Limits.RELEASE_MS),
              () -> Errors.noAnswer("no answer", null))
          .earlyEnd;
    } catch (HoldfastException e) {
      return null;
    }
  }

  private CompletableFuture<ReleaseAnswer> releaseNow() {
    synchronized (report) {
      body = null;
    }
    isReleaseAsked = true;
    belief.release();
    return tasks.releaseSoon(this);
  }

  /** Registers the thread that works under the lease. False: the lease is over. */
  boolean begin(BodyThread thread) {
    synchronized (report) {
      if (isOver()) {
        return false;
      }
      body = thread;
    }
    return true;
  }

  /** Whether a thread works under the lease, so that the lease may not be released yet. */
  boolean isWorking() {
    synchronized (report) {
      return body != null;
    }
  }

  /** The cause of the loss. Null: the lease is held, or this process has released the lease. */
  @Nullable LossCause lossCause() {
    return belief.loss();
  }

  long token() {
    return token;
  }

  /** The time of the own clock until which this process may rely on the lease. */
  long deadline() {
    return belief.deadline();
  }

  /** The deadline, or the end of the longest hold. */
  long endsAt() {
    return belief.endsAt();
  }

  /** Compares the clock too. */
  boolean isOver() {
    return belief.isOver();
  }

  /** Takes the deadline of a renewal or an attach. Belongs to the loop. */
  void confirm(long until) {
    belief.confirm(until);
  }

  /** Only the first cause counts. */
  void lose(LossCause cause) {
    belief.lose(cause);
  }

  /** Ends the belief before a release. Without effect after a loss. */
  void endBeforeRelease() {
    belief.release();
  }

  private void ended() {
    tasks.over(this, belief.cause());
    report.tell();
  }
}
