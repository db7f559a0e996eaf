package dev.holdfast.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** What the caller hears of the loss of one lease. Thread-safe. */
final class LossReport {
  private final String name;
  private final Belief belief;
  private final Callbacks callbacks;
  private volatile boolean isTold;

  /** Guarded by this report. */
  private List<Consumer<LeaseLostException>> waiting = new ArrayList<>();

  LossReport(String name, Belief belief, Callbacks callbacks) {
    this.name = name;
    this.belief = belief;
    this.callbacks = callbacks;
  }

  /** Throws if the lease is over, also after a release by this process. */
  void check() {
    if (belief.isOver()) {
      isTold = true;
      throw exception(belief.cause());
    }
  }

  /** Throws at the end of the work, unless the caller knows of the loss. */
  void throwUnlessTold(LossCause cause) {
    if (!isTold) {
      isTold = true;
      throw exception(cause);
    }
  }

  /** Empty: the lease is held, or this process has released the lease. */
  Optional<LeaseLostException> loss() {
    return Optional.ofNullable(belief.loss()).map(this::exception);
  }

  /** Calls the listener once, at once if the lease is over already. */
  void add(Consumer<LeaseLostException> listener) {
    Objects.requireNonNull(listener, "listener");
    synchronized (this) {
      waiting.add(listener);
    }
    if (belief.isOver()) {
      tell();
    }
  }

  CompletableFuture<LeaseLostException> future() {
    CompletableFuture<LeaseLostException> lost = new CompletableFuture<>();
    loss().ifPresent(lost::complete);
    add(lost::complete);
    return lost;
  }

  /**
   * Calls all listeners on a thread for such calls, and forgets them. Nobody hears of a release by
   * this process.
   */
  void tell() {
    List<Consumer<LeaseLostException>> told;
    synchronized (this) {
      told = waiting;
      waiting = new ArrayList<>();
    }
    LossCause cause = belief.loss();
    if (cause != null) {
      told.forEach(listener -> callbacks.run(() -> listener.accept(exception(cause))));
    }
  }

  private LeaseLostException exception(LossCause cause) {
    return new LeaseLostException(name, cause, null);
  }
}
