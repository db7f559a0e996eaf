package dev.holdfast.client;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The leases in which this process believes, and the ids of those that are over. Belongs to the
 * loop.
 */
final class HeldLeases {
  private final Map<String, HeldLease> held = new HashMap<>();
  private final Set<String> over = new LinkedHashSet<>();

  /** The number of leases by ttl. */
  private final Map<Long, Integer> ttls = new HashMap<>();

  private volatile int count;

  /** The number of leases. Any thread may ask. */
  int count() {
    return count;
  }

  @Nullable HeldLease get(String id) {
    return held.get(id);
  }

  /** A lease that is over stays over, whatever a session reports. */
  boolean isOver(String id) {
    return over.contains(id);
  }

  void add(HeldLease lease) {
    held.put(lease.id, lease);
    countTtl(lease.ttl, 1);
    count = held.size();
  }

  void end(HeldLease lease) {
    if (held.remove(lease.id) != null) {
      countTtl(lease.ttl, -1);
      count = held.size();
    }
    over.add(lease.id);
    if (over.size() > Numbers.Session.MAX_ENDED_LEASES_REMEMBERED) {
      Iterator<String> earliest = over.iterator();
      earliest.next();
      earliest.remove();
    }
  }

  void changeTtl(HeldLease lease, long ttl) {
    if (ttl > 0 && ttl != lease.ttl && held.containsKey(lease.id)) {
      countTtl(lease.ttl, -1);
      lease.ttl = ttl;
      countTtl(ttl, 1);
    }
  }

  /** NEVER without a lease. */
  long shortestTtl() {
    long shortest = Durations.NEVER;
    for (long ttl : ttls.keySet()) {
      shortest = Math.min(shortest, ttl);
    }
    return shortest;
  }

  /** NEVER without a lease. */
  long nearestDeadline() {
    long nearest = Durations.NEVER;
    for (HeldLease lease : held.values()) {
      nearest = Math.min(nearest, lease.deadline());
    }
    return nearest;
  }

  /** The earliest deadline first, without leases that are over. */
  List<HeldLease> byDeadline() {
    List<HeldLease> leases = new ArrayList<>(held.values());
    leases.removeIf(HeldLease::isOver);
    // The deadlines do not change while they are compared, because only the loop moves them.
    leases.sort(Comparator.comparingLong(HeldLease::deadline));
    return leases;
  }

  private void countTtl(long ttl, int change) {
    ttls.merge(ttl, change, (now, by) -> now + by == 0 ? null : now + by);
  }
}
