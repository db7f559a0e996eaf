package dev.holdfast.client;

import dev.holdfast.v1.CancelCommand;
import dev.holdfast.v1.SessionCommand;
import io.grpc.Status;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/** The acquires without an answer. Belongs to the loop. */
final class Acquires {
  private final Tasks tasks;

  /** Somebody waits for the lease. */
  private final Set<Intent> waiting = new LinkedHashSet<>();

  /**
   * Nobody waits any more, but a grant may be under way. They take no place of new acquires.
   * Forgotten after their ttl, and the earliest of too many at once. A lease that is granted to a
   * forgotten intent is released all the same, if its session hears of it.
   */
  private final Set<Intent> abandoned = new LinkedHashSet<>();

  Acquires(Tasks tasks) {
    this.tasks = tasks;
  }

  boolean isEmpty() {
    return waiting.isEmpty() && abandoned.isEmpty();
  }

  /** Sends all acquires in the next session, in their order. */
  void moveTo(Session session) {
    for (Intent intent : abandoned) {
      place(intent, session);
    }
    for (Intent intent : waiting) {
      place(intent, session);
    }
  }

  void abandonAll() {
    for (Intent intent : List.copyOf(waiting)) {
      abandon(intent, new ClosedException());
    }
  }

  void acquire(Intent intent) {
    if (waiting.size() >= Numbers.Session.MAX_ACQUIRES_UNANSWERED) {
      String text =
          Numbers.Session.MAX_ACQUIRES_UNANSWERED + " acquires of this client wait already";
      int code = Status.Code.RESOURCE_EXHAUSTED.value();
      intent.fail(Errors.of(text, new ErrorFacts("QUOTA_EXCEEDED", code), null));
      return;
    }
    waiting.add(intent);
    if (intent.wanted.wait != null) {
      long late =
          Durations.plus(
              Durations.nanos(intent.wanted.wait),
              Durations.millis(Numbers.Limits.ANSWER_AFTER_WAIT_MS));
      intent.lateTimer = tasks.later(late, () -> abandon(intent, noAnswerTo(intent)));
    }
    // A server that leaves may refuse new acquires. The next session sends the acquire.
    Session current = tasks.current;
    if (current != null && !current.isLeaving) {
      place(intent, current);
    }
  }

  private HoldfastException noAnswerTo(Intent intent) {
    String text = "no server answered the acquire of " + Texts.quoted(intent.wanted.name);
    return tasks.noAnswer(text, intent.lastError);
  }

  /**
   * The caller hears at once. The intent stays until the server has answered, because a grant may
   * be under way. A grant that has come is released.
   */
  void abandon(Intent intent, Throwable error) {
    if (intent.lease != null) {
      tasks.release(intent.lease);
      return;
    }
    if (!waiting.remove(intent)) {
      return;
    }
    intent.isAbandoned = true;
    intent.fail(error);
    if (intent.home == null) {
      tasks.tellEmpty();
      return;
    }
    abandoned.add(intent);
    cancel(intent, intent.home);
    intent.lateTimer = tasks.later(lifeOf(intent), () -> forget(intent));
    if (abandoned.size() > Numbers.Session.MAX_ACQUIRES_UNANSWERED) {
      remove(abandoned.iterator().next());
    }
  }

  /** A grant under way ends by its ttl, if nobody releases it. */
  private static long lifeOf(Intent intent) {
    Duration ttl = intent.wanted.ttl;
    return ttl == null
        ? Durations.millis(Numbers.Session.LONGEST_TTL_MS)
        : Durations.nanos(ttl);
  }

  private void forget(Intent intent) {
    abandoned.remove(intent);
    tasks.tellEmpty();
  }

  /** The caller stops the wait, and keeps a lease that is granted already. */
  void stopWaiting(Intent intent) {
    if (intent.lease == null) {
      String text = "the wait for " + Texts.quoted(intent.wanted.name) + " was stopped";
      abandon(intent, new CancellationException(text));
    }
  }

  @Nullable CommandOwner granted(
      Intent intent, dev.holdfast.v1.Lease message, Receipt receipt, Session session, long number) {
    long ttl = Durations.nanos(message.getTtl());
    long until = Deadlines.of(receipt, message.getExpireOffset(), ttl);
    HeldLease known = tasks.leases.get(message.getLeaseId());
    if (known != null) {
      // The grant of an older session was read before the answer of this one.
      known.confirm(until);
      if (known.home == null || known.home.number <= session.number) {
        Tasks.settle(known, session, number);
      }
      return new LeaseOwner(known, number, tasks);
    }
    boolean isUnwanted = intent.isAbandoned || tasks.leases.isOver(message.getLeaseId());
    if (!remove(intent) || isUnwanted) {
      tasks.releases.release(message.getLeaseId(), ttl);
      tasks.tellEmpty();
      return null;
    }
    if (until <= tasks.now()) {
      grantedTooLate(intent, message, ttl);
      return null;
    }
    HeldLease lease = begin(intent, message, until);
    // A repetition in a later session attaches to the lease, so only that session speaks for the
    // lease.
    if (intent.home == null || intent.home.number <= session.number) {
      Tasks.settle(lease, session, number);
    } else if (intent.isPausing) {
      tasks.attach(lease, intent.home);
    } else {
      lease.home = intent.home;
    }
    intent.grant(lease);
    tasks.tellEmpty();
    return new LeaseOwner(lease, number, tasks);
  }

  private HeldLease begin(Intent intent, dev.holdfast.v1.Lease message, long until) {
    HeldLease lease = new HeldLease(message, until, intent.wanted, tasks);
    tasks.leases.add(lease);
    intent.lease = lease;
    tasks.watch(lease);
    return lease;
  }

  /** The grant is over on arrival, so the work never began. */
  private void grantedTooLate(Intent intent, dev.holdfast.v1.Lease message, long ttl) {
    tasks.releases.release(message.getLeaseId(), ttl);
    if (intent.takeNewId()) {
      waiting.add(intent);
      intent.home = null;
      Session current = tasks.current;
      if (current != null) {
        place(intent, current);
      }
      return;
    }
    String text = "the grant of " + Texts.quoted(intent.wanted.name) + " came after its end";
    intent.fail(Errors.noAnswer(text, null));
    tasks.tellEmpty();
  }

  void cancelled(Intent intent) {
    if (remove(intent)) {
      intent.fail(new ClosedException());
    }
    tasks.tellEmpty();
  }

  void failed(Intent intent, HoldfastException error, Session session) {
    if (intent.home != session) {
      return;
    }
    // The repetition of an acquire is the attach of its lease.
    if (intent.lease != null && intent.lease.number == 0) {
      new AttachOwner(intent.lease, tasks).failed(error, session);
      return;
    }
    if (!contains(intent)) {
      return;
    }
    intent.lastError = error;
    if (error.reason().equals("REQUEST_FINISHED") && intent.takeNewId()) {
      place(intent, session);
    } else if (Tasks.isRepeated(error) && isWorthAttempts(intent, error)) {
      repeatAcquire(intent, error, session);
    } else {
      remove(intent);
      intent.fail(error);
      tasks.tellEmpty();
    }
  }

  /** Nobody waits for an abandoned intent, but a lease may have been granted. */
  private static boolean isWorthAttempts(Intent intent, HoldfastException error) {
    return !intent.isAbandoned || error.reason().equals("OUTCOME_UNKNOWN");
  }

  private boolean contains(Intent intent) {
    return waiting.contains(intent) || abandoned.contains(intent);
  }

  private boolean remove(Intent intent) {
    if (abandoned.remove(intent)) {
      intent.stopTimer();
      return true;
    }
    return waiting.remove(intent);
  }

  private void repeatAcquire(Intent intent, HoldfastException error, Session session) {
    intent.attempts++;
    intent.isPausing = true;
    // The next session sends the acquire again.
    if (session.isLeaving && error.reason().equals("DRAINING")) {
      return;
    }
    tasks.later(
        Pauses.beforeRepeat(intent.attempts, error.retryAfterNanos()),
        () -> {
          if (intent.isPausing && intent.home == session && contains(intent)) {
            place(intent, session);
          }
        });
  }

  private void place(Intent intent, Session session) {
    intent.home = session;
    intent.isPausing = false;
    intent.commandId = session.run(intent.command(tasks.now()), intent);
    if (intent.isAbandoned) {
      cancel(intent, session);
    }
  }

  private static void cancel(Intent intent, Session session) {
    CancelCommand.Builder command = CancelCommand.newBuilder().setCommandId(intent.commandId);
    session.run(SessionCommand.newBuilder().setCancel(command), null);
  }

  /**
   * The servers refuse this client. The deadlines of the held leases decide how long their work may
   * go on.
   */
  void failAll(HoldfastException error) {
    for (Intent intent : waiting) {
      intent.fail(error);
    }
    waiting.clear();
    abandoned.forEach(Intent::stopTimer);
    abandoned.clear();
    tasks.tellEmpty();
  }
}
