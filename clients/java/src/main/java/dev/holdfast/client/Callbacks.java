package dev.holdfast.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** Runs the code of the user outside of the loop. Thread-safe. */
final class Callbacks {
  private final Executor executor;

  Callbacks(Executor executor) {
    this.executor = executor;
  }

  /** Runs code of the user. */
  void run(Runnable callback) {
    try {
      executor.execute(
          () -> {
            try {
              callback.run();
            } catch (RuntimeException | Error e) {
              Log.error("a callback has failed", e);
            }
          });
    } catch (RejectedExecutionException e) {
      Log.debug("the client is closed, so a callback was not run");
    }
  }

  /** A copy of a future. The dependents of the copy run outside of the loop. */
  <T> CompletableFuture<T> copyOf(CompletableFuture<T> future) {
    CompletableFuture<T> copy = new CompletableFuture<>();
    future.whenComplete(
        (value, error) ->
            runDetached(
                () -> {
                  if (error == null) {
                    copy.complete(value);
                  } else {
                    copy.completeExceptionally(error);
                  }
                }));
    return copy;
  }

  /** The closing client completes its futures too. */
  private void runDetached(Runnable completion) {
    try {
      executor.execute(completion);
    } catch (RejectedExecutionException e) {
      completion.run();
    }
  }
}
