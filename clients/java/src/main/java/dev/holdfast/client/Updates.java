package dev.holdfast.client;

import java.util.ArrayDeque;
import java.util.List;

/**
 * The updates of one lease without an answer, in the order of their calls. Only the first update is
 * sent. Belongs to the loop.
 */
final class Updates {
  // Most leases never have an update.
  private final ArrayDeque<UpdateTask> queue = new ArrayDeque<>(1);

  void add(UpdateTask task) {
    queue.addLast(task);
    if (queue.peekFirst() == task) {
      task.begin();
    }
  }

  /** Sends the first update again, because the lease has a new number. */
  void attached() {
    UpdateTask first = queue.peekFirst();
    if (first != null) {
      first.place();
    }
  }

  /** Removes an update that has ended. The next update begins if the first one has ended. */
  void remove(UpdateTask task) {
    boolean wasFirst = queue.peekFirst() == task;
    queue.remove(task);
    UpdateTask next = queue.peekFirst();
    if (wasFirst && next != null) {
      next.begin();
    }
  }

  /** Fails all updates, and sends none of them. */
  void failAll(Throwable error) {
    List<UpdateTask> all = List.copyOf(queue);
    queue.clear();
    for (UpdateTask task : all) {
      task.fail(error);
    }
  }
}
