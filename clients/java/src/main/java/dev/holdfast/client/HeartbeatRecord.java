package dev.holdfast.client;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/** The times at which the heartbeats of one session were sent. */
final class HeartbeatRecord {
  private static final class Heartbeat {
    final long id;
    final long sentAt;

    Heartbeat(long id, long sentAt) {
      this.id = id;
      this.sentAt = sentAt;
    }
  }

  private final ArrayDeque<Heartbeat> sent = new ArrayDeque<>();
  private long latest;
  private long answered;

  /** Call before the heartbeat is passed to the gRPC library. Returns the id of the heartbeat. */
  long send(long now) {
    latest++;
    sent.addLast(new Heartbeat(latest, now));
    if (sent.size() > Numbers.Session.MAX_HEARTBEATS_REMEMBERED) {
      sent.removeFirst();
    }
    return latest;
  }

  /**
   * The time of the heartbeat that a response names. Forgets all earlier heartbeats, because later
   * responses never name them. Null: the heartbeat was never sent or is forgotten, so nothing in
   * the response may be believed.
   */
  @Nullable Long answer(long id) {
    while (!sent.isEmpty() && sent.getFirst().id < id) {
      sent.removeFirst();
    }
    if (sent.isEmpty() || sent.getFirst().id != id) {
      return null;
    }
    answered = id;
    return sent.getFirst().sentAt;
  }

  /** The time of the latest heartbeat. */
  long lastSentAt() {
    return sent.isEmpty() ? -Durations.NEVER : sent.getLast().sentAt;
  }

  /** The time of the earliest heartbeat without an answer. NEVER: every heartbeat has an answer. */
  long unansweredSince() {
    for (Heartbeat heartbeat : sent) {
      if (heartbeat.id > answered) {
        return heartbeat.sentAt;
      }
    }
    return Durations.NEVER;
  }
}
