package dev.holdfast.client;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request for a lease. Immutable: each option returns a copy. One request may be used many times,
 * also by several threads.
 *
 * @param <R> the kind of the request
 */
public abstract class AcquireRequest<R extends AcquireRequest<R>> {
  private final Client client;
  private final Wanted wanted;

  AcquireRequest(Client client, Wanted wanted) {
    this.client = client;
    this.wanted = wanted;
  }

  abstract R with(Client client, Wanted wanted);

  final R with(Consumer<Wanted> change) {
    Wanted copy = wanted.copy();
    change.accept(copy);
    return with(client, copy);
  }

  /**
   * The time after which the lease ends if this process vanishes. The client renews the lease long
   * before. Default: the server's, 30 s. Range: 100 ms to 2 min, as the server allows.
   */
  public final R ttl(Duration ttl) {
    Durations.checked(ttl, "ttl");
    return with(copy -> copy.ttl = ttl);
  }

  /** The longest wait in the queue. Default: without bound. */
  public final R waitFor(Duration wait) {
    Durations.checked(wait, "waitFor");
    return with(copy -> copy.wait = wait);
  }

  /**
   * The longest time to hold the lease. Afterwards the lease counts as lost, with the cause
   * MAX_HOLD, and is released when the work has ended or the deadline has passed. Heartbeats prove
   * that the process runs; this option catches work that hangs. Default: no bound.
   *
   * @throws IllegalArgumentException for a time that is not greater than 0
   */
  public final R maxHold(Duration maxHold) {
    if (Durations.checked(maxHold, "maxHold") == 0) {
      throw new IllegalArgumentException("maxHold must be greater than 0");
    }
    return with(copy -> copy.maxHold = maxHold);
  }

  /**
   * What others see beside the lease, for example a host name. Default: the metadata of the client.
   */
  public final R metadata(Map<String, String> metadata) {
    Map<String, String> given = Texts.checkedMetadata(metadata);
    return with(copy -> copy.metadata = given);
  }

  /**
   * Ends the wait, and nothing else, when the stage completes, also exceptionally: {@code acquire},
   * {@code run} and {@code call} then throw a {@link CancellationException}. A grant that was under
   * way is released. Work that has begun goes on. An interrupt ends the wait too, but would reach
   * the work if it comes later.
   *
   * <pre>{@code
   * CompletableFuture<Void> stop = new CompletableFuture<>(); // completed at SIGTERM
   * hf.lock("report").stopWaitingAt(stop).run(lease -> write(lease));
   * }</pre>
   */
  public final R stopWaitingAt(CompletionStage<?> stop) {
    CompletableFuture<?> given = stop.toCompletableFuture();
    return with(copy -> copy.stop = given);
  }

  /** Called with the place in the queue while the request waits, at most every 2 s. */
  public final R onQueued(Consumer<QueuePlace> listener) {
    return with(copy -> copy.onQueued = listener);
  }

  /**
   * Waits for the lease. Close the lease after the work.
   *
   * @throws ContendedException if others held it during the whole wait
   * @throws CancellationException if the stage of {@link #stopWaitingAt} completed first
   * @throws InterruptedException if the thread was interrupted; a grant that was under way is
   *     released
   */
  public final Lease acquire() throws InterruptedException {
    Tracing.Span span = startSpan();
    try {
      Integer expected = exactLimit();
      if (expected != null) {
        return client.limits.acquireExactly(wanted, expected, this::granted);
      }
      Lease lease = granted(wanted);
      client.limits.compareLater(wanted.name, wanted.limit);
      return lease;
    } catch (RuntimeException | InterruptedException e) {
      span.fail(e);
      throw e;
    } finally {
      span.end();
    }
  }

  /** Null: no limit is demanded. */
  private @Nullable Integer exactLimit() {
    if (wanted.isExact && wanted.limit == null) {
      throw new IllegalArgumentException("exactLimit needs limit");
    }
    return wanted.isExact ? wanted.limit : null;
  }

  private Lease granted(Wanted now) throws InterruptedException {
    Intent intent = client.engine.acquire(now);
    try {
      return intent.answer.get();
    } catch (ExecutionException e) {
      throw Await.unwrapped(e.getCause());
    } catch (CancellationException e) {
      throw new CancellationException(e.getMessage());
    } catch (InterruptedException e) {
      client.engine.abandon(intent, e);
      throw e;
    }
  }

  /** Tries once. Empty if others hold it or wait for it. */
  public final Optional<Lease> tryAcquire() throws InterruptedException {
    try {
      return Optional.of(waitFor(Duration.ZERO).acquire());
    } catch (ContendedException e) {
      return Optional.empty();
    }
  }

  /**
   * Waits for the lease without a thread, unless an exact limit is demanded. A future that is cancelled, or completed by its owner,
   * ends the wait. A grant that was under way is then released.
   */
  public final CompletableFuture<Lease> acquireAsync() {
    if (exactLimit() != null) {
      return acquireOnThread();
    }
    Tracing.Span span = startSpan();
    Intent intent = client.engine.acquire(wanted);
    CompletableFuture<Lease> future = client.engine.tasks.callbacks.copyOf(intent.answer);
    future.whenComplete(
        (lease, error) -> {
          if (error != null) {
            span.fail(error);
            client.engine.abandon(intent, error);
          } else if (!intent.isAnsweredBy(lease)) {
            client.engine.abandon(
                intent, new CancellationException("the owner has completed the future"));
          } else {
            client.limits.compareLater(wanted.name, wanted.limit);
          }
          span.end();
        });
    return future;
  }

  private CompletableFuture<Lease> acquireOnThread() {
    CompletableFuture<Lease> future = new CompletableFuture<>();
    AtomicBoolean isAnswered = new AtomicBoolean();
    FutureTask<Void> task =
        new FutureTask<>(
            () -> {
              try {
                Lease lease = acquire();
                isAnswered.set(true);
                if (!future.complete(lease)) {
                  lease.releaseAsync();
                }
              } catch (RuntimeException | InterruptedException e) {
                isAnswered.set(true);
                future.completeExceptionally(e);
              }
              return null;
            });
    try {
      client.callbacks.execute(task);
    } catch (RejectedExecutionException e) {
      future.completeExceptionally(new ClosedException());
    }
    // Interrupts the wait if the owner has completed the future.
    future.whenComplete(
        (lease, error) -> {
          if (!isAnswered.get()) {
            task.cancel(true);
          }
        });
    return future;
  }

  /**
   * Waits for the lease, runs the work, and releases the lease. If the lease is lost, the calling
   * thread is interrupted, and after the end of the work a {@link LeaseLostException} is thrown,
   * with the work's exception as its cause. An interrupt ends the wait, and later reaches the work;
   * {@link #stopWaitingAt} ends the wait alone. After a loss the interrupt flag is cleared at the
   * end of the work, also if somebody else has interrupted the thread since.
   *
   * @param <X> the checked exception of the work
   */
  public final <X extends Exception> void run(LeaseBody<X> work) throws X, InterruptedException {
    Objects.requireNonNull(work, "work");
    this.<Boolean, X>call(
        lease -> {
          work.run(lease);
          return true;
        });
  }

  /**
   * Runs work with a result, as {@link #run} does.
   *
   * @param <T> the result
   * @param <X> the checked exception of the work
   */
  public final <T extends @Nullable Object, X extends Exception> T call(LeaseFunction<T, X> work)
      throws X, InterruptedException {
    Objects.requireNonNull(work, "work");
    return UnderLease.run(acquire(), work);
  }

  private Tracing.Span startSpan() {
    String kind = wanted.isLock ? "lock" : "permits";
    return client.tracing.start(
        "holdfast.acquire", Map.of("holdfast.kind", kind, "holdfast.name", wanted.name));
  }
}
