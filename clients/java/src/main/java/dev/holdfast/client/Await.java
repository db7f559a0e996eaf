package dev.holdfast.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Waits for futures of this package, and throws their exceptions. */
final class Await {
  private Await() {}

  /** Throws a HoldfastException if the thread is interrupted, and keeps the interrupt flag. */
  static <T extends @Nullable Object> T answer(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException e) {
      future.cancel(true);
      Thread.currentThread().interrupt();
      throw Errors.interrupted(e);
    } catch (ExecutionException e) {
      throw unwrapped(e.getCause());
    }
  }

  /**
   * Waits although the thread is interrupted, because a release comes in any case. Keeps the
   * interrupt flag.
   */
  static <T extends @Nullable Object> T uninterruptibly(
      CompletableFuture<T> future, long limitNanos, Supplier<? extends HoldfastException> late) {
    boolean isInterrupted = false;
    long until = System.nanoTime() + limitNanos;
    try {
      while (true) {
        try {
          return future.get(until - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          isInterrupted = true;
        } catch (TimeoutException e) {
          throw late.get();
        } catch (ExecutionException e) {
          throw unwrapped(e.getCause());
        }
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  static RuntimeException unwrapped(@Nullable Throwable error) {
    if (error instanceof Error) {
      throw (Error) error;
    }
    if (error instanceof HoldfastException) {
      return Errors.withOwnStack((HoldfastException) error);
    }
    if (error instanceof RuntimeException) {
      return (RuntimeException) error;
    }
    return new IllegalStateException(error);
  }
}
