package dev.holdfast.conformance;

import com.google.gson.JsonObject;
import dev.holdfast.client.Holdfast;
import dev.holdfast.client.Lease;
import dev.holdfast.client.TypeAhead;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** What the driver has opened, by the names that the case gave. */
final class Desk {
  /** A lease, and whether the case has released it. */
  static final class Held {
    final Lease lease;
    volatile boolean isReleased;

    Held(Lease lease) {
      this.lease = lease;
    }
  }

  final Output output;
  final Map<String, Holdfast> clients = new ConcurrentHashMap<>();
  final Map<String, TypeAhead> inputs = new ConcurrentHashMap<>();

  /**
   * The bodies of with_lock that wait for their ends. Completed with the text of an error, or
   * empty.
   */
  final Map<Long, CompletableFuture<String>> works = new ConcurrentHashMap<>();

  /** Ends a command that has no thread of its own. */
  final Map<Long, Runnable> cancels = new ConcurrentHashMap<>();

  private final Map<String, Held> leases = new ConcurrentHashMap<>();
  private final Map<Long, Thread> threads = new ConcurrentHashMap<>();
  private final Set<Thread> before;

  Desk(Output output) {
    this.output = output;
    this.before = Set.copyOf(Thread.getAllStackTraces().keySet());
  }

  void begin(long id) {
    threads.put(id, Thread.currentThread());
  }

  /** A cancellation that comes later must not meet the next command of the thread. */
  void end(long id) {
    synchronized (threads) {
      threads.remove(id);
    }
    Thread.interrupted();
  }

  /** Gives up a command as a caller in Java does: by an interrupt. */
  void cancel(long id) {
    Runnable cancel = cancels.get(id);
    synchronized (threads) {
      Thread thread = threads.get(id);
      if (cancel != null) {
        cancel.run();
      } else if (thread != null) {
        thread.interrupt();
      }
    }
  }

  Holdfast client(Fields fields) {
    return named(clients, fields.text("client"));
  }

  Held held(Fields fields) {
    return named(leases, fields.text("lease"));
  }

  TypeAhead input(Fields fields) {
    return named(inputs, fields.text("as"));
  }

  private static <T> T named(Map<String, T> map, String name) {
    T found = map.get(name);
    if (found == null) {
      throw new IllegalArgumentException("there is no " + name);
    }
    return found;
  }

  /** Watches the lease, and tells its loss. */
  JsonObject keep(String name, Lease lease) {
    long grantedAt = System.nanoTime();
    Held held = new Held(lease);
    leases.put(name, held);
    lease.onLost(
        lost -> {
          if (held.isReleased) {
            return;
          }
          JsonObject event = new JsonObject();
          event.addProperty("event", "lost");
          event.addProperty("lease", name);
          event.addProperty("cause", lost.lossCause().name());
          event.addProperty("noticed_by", lost.noticedBy().name().toLowerCase());
          event.addProperty("at_ms", (System.nanoTime() - grantedAt) / 1_000_000);
          output.write(event);
        });
    JsonObject granted = new JsonObject();
    // A lease may be lost on arrival. Its loss was told before this line throws.
    granted.addProperty("token", Long.toString(lease.fencingToken()));
    JsonObject result = new JsonObject();
    result.add("granted", granted);
    return result;
  }

  /** The threads that exist now and did not exist when the driver was ready, without its own. */
  long newThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !before.contains(thread) && !thread.getName().startsWith("pool-"))
        .filter(thread -> thread.getName().startsWith("holdfast"))
        .count();
  }
}
