package dev.holdfast.client;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The servers of one store. Each address of each name has its turn, because a process that hangs
 * still accepts connections, and gRPC would come back to it. Thread-safe.
 */
final class Servers {
  /** A server, with the number of addresses that have not had their turn. */
  static final class Turn {
    final Server server;

    /** The addresses that were never taken before, this one included, or all of a later round. */
    final int left;

    Turn(Server server, int left) {
      this.server = server;
      this.left = left;
    }
  }

  /** A connection does not wait longer for the addresses of a name. */
  private static final long LOOKUP_MS = 1000;

  private final Map<String, @Nullable HostName> names = new LinkedHashMap<>();
  private final HostName.Lookup lookup;
  private final Executor lookups;

  /** The turn in which an address was last taken. */
  private Map<Server, Long> turns = new HashMap<>();

  private long turn;

  /**
   * @param lookups runs the lookups, at most one for each name
   */
  Servers(List<String> given, HostName.Lookup lookup, Executor lookups) {
    given.forEach(one -> names.put(one, HostName.of(one)));
    this.lookup = lookup;
    this.lookups = lookups;
  }

  /**
   * Looks all names up anew, and returns the address that was not taken for the longest time. A
   * lookup that fails or takes longer than 1 s leaves the addresses of the one before.
   */
  Turn next() throws InterruptedException {
    List<CompletableFuture<Void>> running = new ArrayList<>();
    for (HostName name : names.values()) {
      if (name != null) {
        running.add(name.lookUp(lookup, lookups));
      }
    }
    try {
      CompletableFuture.allOf(running.toArray(new CompletableFuture<?>[0]))
          .get(LOOKUP_MS, TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException e) {
      // A late lookup serves the next connection.
    }
    return take();
  }

  private synchronized Turn take() {
    List<Server> all = all();
    Map<Server, Long> known = new HashMap<>();
    Server next = all.get(0);
    int untaken = 0;
    for (Server one : all) {
      long last = turns.getOrDefault(one, 0L);
      known.put(one, last);
      if (last < turns.getOrDefault(next, 0L)) {
        next = one;
      }
      untaken += last == 0 ? 1 : 0;
    }
    turn++;
    known.put(next, turn);
    turns = known;
    return new Turn(next, untaken == 0 ? all.size() : untaken);
  }

  /** The number of known addresses. */
  synchronized int count() {
    return all().size();
  }

  private List<Server> all() {
    List<Server> all = new ArrayList<>();
    names.forEach(
        (given, name) ->
            all.addAll(name == null ? List.of(new Server(given, null)) : name.servers()));
    return all;
  }
}
