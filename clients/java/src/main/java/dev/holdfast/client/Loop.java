package dev.holdfast.client;

/**
 * The thread of a client, with its clock. All state of sessions belongs to this thread, so that the
 * client needs no locks. No code of the user runs there.
 */
interface Loop {
  /** A planned run. */
  interface Timer {
    void cancel();
  }

  /** The time of the client's monotonic clock in nanoseconds. Any thread may ask. */
  long now();

  /** Whether the caller runs in the loop. */
  boolean isHere();

  /** Runs a task in the loop after the tasks of earlier calls. False: the loop has ended. */
  boolean execute(Runnable task);

  /** Runs a task in the loop after a delay, unless the loop ends before. */
  Timer schedule(long delayNanos, Runnable task);
}
