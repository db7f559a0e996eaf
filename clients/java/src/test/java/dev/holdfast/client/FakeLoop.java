package dev.holdfast.client;

import java.time.Duration;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A loop in synthetic time, on the thread of the test. Other threads may add tasks. */
final class FakeLoop implements Loop {
  private static final class Planned implements Comparable<Planned> {
    final long at;
    final long order;
    final Runnable task;

    Planned(long at, long order, Runnable task) {
      this.at = at;
      this.order = order;
      this.task = task;
    }

    @Override
    public int compareTo(Planned other) {
      return at != other.at ? Long.compare(at, other.at) : Long.compare(order, other.order);
    }
  }

  private final Thread thread = Thread.currentThread();
  private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final PriorityQueue<Planned> timers = new PriorityQueue<>();
  private long now;
  private long order;

  @Override
  public long now() {
    return now;
  }

  @Override
  public boolean isHere() {
    return Thread.currentThread() == thread;
  }

  @Override
  public boolean execute(Runnable task) {
    tasks.add(task);
    return true;
  }

  @Override
  public Timer schedule(long delayNanos, Runnable task) {
    order++;
    Planned planned = new Planned(Durations.plus(now, Math.max(0, delayNanos)), order, task);
    timers.add(planned);
    return () -> timers.remove(planned);
  }

  int timerCount() {
    return timers.size();
  }

  /** Runs the tasks of this moment. */
  void settle() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      task.run();
    }
  }

  /** Runs all timers of a span of time, each at its time. */
  void advance(Duration span) {
    settle();
    long end = now + span.toNanos();
    while (!timers.isEmpty() && timers.peek().at <= end) {
      Planned next = timers.poll();
      now = Math.max(now, next.at);
      next.task.run();
      settle();
    }
    now = end;
  }

  /** Time passes while this process is stopped: no timer fires. */
  void stop(Duration span) {
    now += span.toNanos();
  }
}
