package dev.holdfast.client;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The releases without an answer, by the ids of their leases. Belongs to the loop, except the
 * method that says otherwise.
 */
final class Releases {
  private final Tasks tasks;
  private final Map<String, ReleaseTask> releases = new ConcurrentHashMap<>();
  private boolean isClosed;

  Releases(Tasks tasks) {
    this.tasks = tasks;
  }

  boolean isEmpty() {
    return releases.isEmpty();
  }

  /** Sends all releases in the next session. */
  void moveTo(Session session) {
    for (ReleaseTask task : releases.values()) {
      task.place(session);
    }
  }

  CompletableFuture<ReleaseAnswer> release(String leaseId, long ttl) {
    ReleaseTask known = releases.get(leaseId);
    if (known != null) {
      return known.answer;
    }
    if (isClosed) {
      return CompletableFuture.failedFuture(new ClosedException());
    }
    ReleaseTask task = new ReleaseTask(leaseId, ttl, tasks);
    releases.put(leaseId, task);
    Session current = tasks.current;
    if (current != null) {
      task.place(current);
    }
    return task.answer;
  }

  /** Why the latest attempt of a release without an answer failed. Any thread may ask. */
  @Nullable HoldfastException lastError(String leaseId) {
    ReleaseTask task = releases.get(leaseId);
    return task == null ? null : task.lastError;
  }

  void ended(ReleaseTask task) {
    releases.remove(task.leaseId, task);
    tasks.tellEmpty();
  }

  void close() {
    isClosed = true;
    for (ReleaseTask task : List.copyOf(releases.values())) {
      task.fail(new ClosedException());
    }
  }
}
