package dev.holdfast.client;

import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A lease as the engine knows it. The program has a {@link Lease}, so that the engine, which keeps
 * this object until its end, never keeps the program's handle.
 */
final class HeldLease {
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

  /** Ends the watch over the program's handle. */
  private volatile Cleaner.@Nullable Cleanable handle;

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

  HeldLease(dev.holdfast.v1.Lease message, long deadline, Wanted wanted, Tasks tasks) {
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

  String name() {
    return name;
  }

  int permits() {
    return permits;
  }

  long fencingToken() {
    check();
    return token;
  }

  void check() {
    report.check();
  }

  boolean isValid() {
    return !isOver();
  }

  Duration remaining() {
    if (isOver()) {
      return Duration.ZERO;
    }
    return Duration.ofNanos(Math.max(0, Durations.until(endsAt(), tasks.now())));
  }

  Optional<LeaseLostException> loss() {
    return report.loss();
  }

  void onLost(Consumer<LeaseLostException> listener) {
    report.add(listener);
  }

  CompletableFuture<LeaseLostException> lost() {
    return report.future();
  }

  boolean release() {
    return Await.uninterruptibly(
        releaseAsync(), Durations.millis(Numbers.Limits.RELEASE_MS), this::noReleaseAnswer);
  }

  /** The error of a release that has no answer yet. */
  HoldfastException noReleaseAnswer() {
    String text = "no server has answered the release of " + Texts.quoted(name);
    return tasks.noAnswer(text, tasks.releases.lastError(id));
  }

  CompletableFuture<Boolean> releaseAsync() {
    return tasks.callbacks.copyOf(releaseNow()).thenApply(answer -> answer.isReleased);
  }

  void updateMetadata(Map<String, String> metadata) {
    Map<String, String> given = Map.copyOf(metadata);
    update(
        before -> isLeader ? Leader.metadata(given, before.getOrDefault(Leader.VALUE, "")) : given);
  }

  /** Replaces the metadata by a change of those before, which the loop makes at its turn. */
  void update(UnaryOperator<Map<String, String>> change) {
    Await.answer(tasks.update(this, change));
  }

  void close() {
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
    isReleaseAsked = true;
    synchronized (report) {
      body = null;
    }
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

  void watchHandle(Cleaner.Cleanable cleanable) {
    handle = cleanable;
  }

  /** The program has lost its handle. Work under the lease ends with a release. */
  void forgotten() {
    if (!isWorking() && !isReleaseAsked && !isOver()) {
      Log.warning(
          "the lease of {0} was forgotten without a release: the client renews it until it is"
              + " closed",
          Texts.quoted(name));
    }
  }

  private void ended() {
    Cleaner.Cleanable watched = handle;
    if (watched != null) {
      watched.clean();
    }
    tasks.over(this, belief.cause());
    report.tell();
  }
}
