package dev.holdfast.client;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** Runs tasks one after the other, on the threads of another executor. */
final class SerialExecutor implements Executor {
  private final Executor executor;
  private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
  private boolean isRunning;

  SerialExecutor(Executor executor) {
    this.executor = executor;
  }

  @Override
  public void execute(Runnable task) {
    synchronized (this) {
      waiting.addLast(task);
      if (isRunning) {
        return;
      }
      isRunning = true;
    }
    try {
      executor.execute(this::runAll);
    } catch (RejectedExecutionException e) {
      synchronized (this) {
        waiting.clear();
        isRunning = false;
      }
      throw e;
    }
  }

  private void runAll() {
    while (true) {
      Runnable task;
      synchronized (this) {
        task = waiting.pollFirst();
        if (task == null) {
          isRunning = false;
          return;
        }
      }
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        Log.error("a task of the Holdfast client has failed", e);
      }
    }
  }
}
