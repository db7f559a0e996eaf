package dev.holdfast.client;

import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The loop of a real client: one daemon thread. */
final class ThreadLoop implements Loop {
  private static final Timer NO_TIMER = () -> {};

  private final SuspendAwareClock clock = SuspendAwareClock.system();
  private final ScheduledThreadPoolExecutor executor;
  private volatile @Nullable Thread thread;

  ThreadLoop() {
    executor = new ScheduledThreadPoolExecutor(1, this::makeThread);
    executor.setRemoveOnCancelPolicy(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  private Thread makeThread(Runnable work) {
    Thread made = new Thread(work, "holdfast");
    // A program that ends without close leaves its leases to the ends of their ttl.
    made.setDaemon(true);
    thread = made;
    return made;
  }

  @Override
  public long now() {
    return clock.now();
  }

  @Override
  public boolean isHere() {
    return Thread.currentThread() == thread;
  }

  @Override
  public boolean execute(Runnable task) {
    try {
      executor.execute(guarded(task));
      return true;
    } catch (RejectedExecutionException e) {
      return false;
    }
  }

  @Override
  public Timer schedule(long delayNanos, Runnable task) {
    try {
      Future<?> planned =
          executor.schedule(guarded(task), Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
      return () -> planned.cancel(false);
    } catch (RejectedExecutionException e) {
      return NO_TIMER;
    }
  }

  /** Ends the loop after the tasks that wait, without the planned ones. */
  void end() {
    executor.shutdown();
  }

  private static Runnable guarded(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        Log.error("a task of the Holdfast client has failed", e);
      }
    };
  }
}
