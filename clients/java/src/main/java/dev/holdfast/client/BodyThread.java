package dev.holdfast.client;

/** The thread that works under a lease. Interrupted once, on a loss. */
final class BodyThread {
  private final Thread thread = Thread.currentThread();
  private boolean isOver;
  private boolean isInterrupted;

  /** The lease is lost. */
  synchronized void interrupt() {
    if (!isOver && !isInterrupted) {
      isInterrupted = true;
      thread.interrupt();
    }
  }

  /** The work has ended. Called by the thread itself. Later interrupts are not for this work. */
  synchronized void end() {
    isOver = true;
    if (isInterrupted) {
      Thread.interrupted();
    }
  }
}
