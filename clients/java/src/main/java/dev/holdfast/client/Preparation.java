package dev.holdfast.client;

import io.grpc.Status;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads token and certificates outside of the loop, because that may block. Belongs to the loop.
 */
final class Preparation {
  private final Callable<Opening> prepare;
  private final Loop loop;
  private final Executor callbacks;
  private Loop.@Nullable Timer limit;
  private @Nullable FutureTask<Opening> running;

  Preparation(Callable<Opening> prepare, Loop loop, Executor callbacks) {
    this.prepare = prepare;
    this.loop = loop;
    this.callbacks = callbacks;
  }

  boolean isRunning() {
    return running != null;
  }

  /** Interrupts a preparation that blocks. */
  void cancel() {
    if (running != null) {
      running.cancel(true);
    }
  }

  /** Calls one of the two in the loop. Without effect while an earlier preparation runs. */
  void begin(Consumer<Opening> onReady, Consumer<HoldfastException> onFailure) {
    if (running != null) {
      return;
    }
    FutureTask<Opening> task =
        new FutureTask<>(prepare) {
          @Override
          protected void done() {
            loop.execute(() -> end(this, onReady, onFailure));
          }
        };
    running = task;
    limit = loop.schedule(Durations.millis(Numbers.Limits.TOKEN_MS), () -> task.cancel(true));
    try {
      callbacks.execute(task);
    } catch (RejectedExecutionException e) {
      task.cancel(false);
    }
  }

  private void end(
      FutureTask<Opening> task, Consumer<Opening> onReady, Consumer<HoldfastException> onFailure) {
    running = null;
    if (limit != null) {
      limit.cancel();
    }
    Opening opening;
    try {
      opening = task.get();
    } catch (ExecutionException e) {
      onFailure.accept(failure(e.getCause()));
      return;
    } catch (CancellationException | InterruptedException e) {
      onFailure.accept(failure(e));
      return;
    }
    onReady.accept(opening);
  }

  static HoldfastException failure(@Nullable Throwable cause) {
    if (cause instanceof HoldfastException) {
      return (HoldfastException) cause;
    }
    String text =
        cause instanceof CancellationException || cause == null
            ? "they did not come within 10 s"
            : String.valueOf(cause.getMessage());
    ErrorFacts facts = new ErrorFacts("NO_CREDENTIAL", Status.Code.UNAUTHENTICATED.value());
    return Errors.of("the client has no token or no certificate: " + text, facts, cause);
  }
}
