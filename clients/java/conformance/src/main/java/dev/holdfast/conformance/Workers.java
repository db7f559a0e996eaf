package dev.holdfast.conformance;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Threads for commands. A command begins after the command before waits or has ended, as its order
 * says.
 */
final class Workers {
  private static final long LONGEST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** A thread that waits for a lock of the runtime goes on at once. */
  private static final int LOOKS = 3;

  private final ExecutorService threads = Executors.newCachedThreadPool();

  void begin(Runnable command) {
    AtomicReference<Thread> worker = new AtomicReference<>();
    CountDownLatch ended = new CountDownLatch(1);
    threads.execute(
        () -> {
          worker.set(Thread.currentThread());
          try {
            command.run();
          } finally {
            ended.countDown();
          }
        });
    long until = System.nanoTime() + LONGEST_WAIT_NANOS;
    try {
      for (int looks = 0; looks < LOOKS && System.nanoTime() < until; ) {
        if (ended.await(1, TimeUnit.MILLISECONDS)) {
          return;
        }
        looks = isWaiting(worker.get()) ? looks + 1 : 0;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static boolean isWaiting(Thread worker) {
    return worker != null
        && (worker.getState() == Thread.State.WAITING
            || worker.getState() == Thread.State.TIMED_WAITING);
  }
}
