package dev.holdfast.client;

import io.grpc.Status;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Asks the token source of the user, within a time limit. Thread-safe. */
final class Tokens {
  /** A source that ignores its interrupts would otherwise fill the memory with threads. */
  private static final int MAX_CALLS = 100;

  private final @Nullable TokenSource source;
  private final Executor callbacks;
  private final Semaphore calls = new Semaphore(MAX_CALLS);

  /**
   * @param callbacks runs the source
   */
  Tokens(@Nullable TokenSource source, Executor callbacks) {
    this.source = source;
    this.callbacks = callbacks;
  }

  boolean isPresent() {
    return source != null;
  }

  /**
   * Waits within the limit, even if the source goes on. Null: the calls carry no token.
   *
   * @throws HoldfastException if there is no token
   */
  @Nullable Token fetch(long limitNanos) throws InterruptedException {
    TokenSource asked = source;
    if (asked == null) {
      return null;
    }
    long until = System.nanoTime() + limitNanos;
    if (!calls.tryAcquire(limitNanos, TimeUnit.NANOSECONDS)) {
      throw noToken("the earlier calls of the token source do not end", null);
    }
    FutureTask<Token> task = new FutureTask<>(asked::fetch);
    start(task);
    try {
      return task.get(until - System.nanoTime(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw noToken(textOf(e.getCause()), e.getCause());
    } catch (TimeoutException e) {
      throw noToken("the token source has not answered in time", null);
    } catch (CancellationException e) {
      throw noToken("the token source was cancelled", e);
    } finally {
      task.cancel(true);
    }
  }

  private void start(FutureTask<Token> task) {
    try {
      callbacks.execute(
          () -> {
            try {
              task.run();
            } finally {
              calls.release();
            }
          });
    } catch (RejectedExecutionException e) {
      calls.release();
      throw new ClosedException(e);
    }
  }

  private static String textOf(@Nullable Throwable cause) {
    String text = cause == null ? null : cause.getMessage();
    return text == null ? String.valueOf(cause) : text;
  }

  private static HoldfastException noToken(String text, @Nullable Throwable cause) {
    int code = Status.Code.UNAUTHENTICATED.value();
    return Errors.of(
        "the client has no token: " + text, new ErrorFacts("NO_CREDENTIAL", code), cause);
  }
}
