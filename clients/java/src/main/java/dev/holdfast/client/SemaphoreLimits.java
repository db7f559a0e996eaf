package dev.holdfast.client;

import dev.holdfast.v1.GetSemaphoreRequest;
import dev.holdfast.v1.Semaphore;
import dev.holdfast.v1.SemaphoreServiceGrpc;
import io.grpc.Status;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Compares the limit of the caller with the limit in force. A server grants permits of an existing
 * semaphore whatever limit the request has, and a grant does not tell the limit. Thread-safe.
 */
final class SemaphoreLimits {
  /** Acquires a lease. */
  interface Grant {
    Lease acquire(Wanted wanted) throws InterruptedException;
  }

  /** Further limits are not compared. A program with so many makes their names as it goes. */
  private static final int MAX_COMPARISONS = 10_000;

  private static final long CALL = Durations.millis(Numbers.Limits.CALL_MS);

  /** The names, each with a limit that was wanted of it. */
  private final Set<Map.Entry<String, Integer>> compared = ConcurrentHashMap.newKeySet();

  /** Names whose limit the caller may not read. */
  private final Set<String> hidden = ConcurrentHashMap.newKeySet();

  private final CallChannel calls;
  private final Executor background;

  SemaphoreLimits(CallChannel calls, Executor background) {
    this.calls = calls;
    this.background = background;
  }

  /** Acquires as {@code grant} does. With an exact limit, throws a LimitMismatchException too. */
  Lease acquireExactly(Wanted wanted, int expected, Grant grant) throws InterruptedException {
    long wait = wanted.wait == null ? Durations.NEVER : Durations.nanos(wanted.wait);
    long answer = Durations.plus(wait, Durations.millis(Numbers.Limits.ANSWER_AFTER_WAIT_MS));
    long begin = System.nanoTime();
    boolean exists = compare(wanted.name, expected, Math.min(CALL, answer));
    Wanted rest = wanted.copy();
    if (wanted.wait != null) {
      long left = Math.max(0, wait - (System.nanoTime() - begin));
      rest.wait = java.time.Duration.ofNanos(left);
    }
    Lease lease = grant.acquire(rest);
    if (exists) {
      return lease;
    }
    try {
      // Another client may have created the semaphore before this acquire.
      if (!compare(wanted.name, expected, CALL)) {
        String text = "the semaphore " + Texts.quoted(wanted.name) + " was deleted meanwhile";
        int code = Status.Code.NOT_FOUND.value();
        throw Errors.of(text, new ErrorFacts("NO_SUCH_SEMAPHORE", code), null);
      }
      return lease;
    } catch (RuntimeException e) {
      lease.releaseAsync();
      throw e;
    }
  }

  /** False: there is no semaphore yet. */
  private boolean compare(String name, int expected, long limitNanos) {
    Optional<Integer> limit = limitOf(name, limitNanos);
    if (limit.isPresent() && limit.get() != expected) {
      String text =
          "the semaphore "
              + Texts.quoted(name)
              + " has the limit "
              + limit.get()
              + ", and exactLimit demands "
              + expected;
      Map<String, String> numbers =
          Map.of("limit", limit.get().toString(), "expected_limit", Integer.toString(expected));
      int code = Status.Code.FAILED_PRECONDITION.value();
      ErrorFacts facts = new ErrorFacts("LIMIT_MISMATCH", code, numbers, null, List.of());
      throw Errors.of(text, facts, null);
    }
    return limit.isPresent();
  }

  /**
   * Warns of another limit, once for each limit of a name, after its first grant. Neither delays
   * nor fails the grant, and whoever may not read the limit gets no warning.
   */
  void compareLater(String name, @Nullable Integer expected) {
    if (expected == null || compared.size() >= MAX_COMPARISONS || hidden.contains(name)) {
      return;
    }
    Map.Entry<String, Integer> wanted = Map.entry(name, expected);
    if (!compared.add(wanted)) {
      return;
    }
    try {
      background.execute(() -> warn(wanted));
    } catch (RejectedExecutionException e) {
      // The client is closed.
    }
  }

  /** Without an answer the next grant asks again. */
  private void warn(Map.Entry<String, Integer> wanted) {
    String name = wanted.getKey();
    try {
      Optional<Integer> limit = limitOf(name, CALL);
      if (limit.isEmpty()) {
        compared.remove(wanted);
      } else if (!limit.get().equals(wanted.getValue())) {
        Log.warning(
            "the semaphore {0} has the limit {1}, not {2}: the option limit does not change it, and"
                + " exactLimit would have refused the permits",
            Texts.quoted(name), limit.get(), wanted.getValue());
      }
    } catch (NotAllowedException e) {
      hidden.add(name); // Each later question would be refused, too.
    } catch (HoldfastException e) {
      compared.remove(wanted);
    }
  }

  /** Empty: there is no semaphore. A paused one counts with the limit that comes back. */
  private Optional<Integer> limitOf(String name, long limitNanos) {
    GetSemaphoreRequest request = GetSemaphoreRequest.newBuilder().setName(name).build();
    try {
      Semaphore semaphore =
          calls
              .unary(SemaphoreServiceGrpc.getGetSemaphoreMethod(), request, limitNanos, true)
              .getSemaphore();
      int kept = semaphore.getKeptLimit();
      return Optional.of(kept > 0 ? kept : semaphore.getLimit());
    } catch (NoSuchSemaphoreException e) {
      return Optional.empty();
    }
  }
}
