package dev.holdfast.client;

import dev.holdfast.v1.AttachCommand;
import dev.holdfast.v1.CancelCommand;
import dev.holdfast.v1.SessionCommand;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * What outlives a session: leases, acquires without an answer, releases without an answer. Belongs
 * to the loop, except the methods that say otherwise.
 */
final class Tasks {
  private static final System.Logger LOGGER = System.getLogger(Holdfast.class.getName());

  final HeldLeases leases = new HeldLeases();

  /** The session that gets new commands. */
  @Nullable Session current;

  private final Loop loop;
  private final Executor callbacks;
  private final Set<Intent> intents = new LinkedHashSet<>();
  private final Map<String, ReleaseTask> releases = new HashMap<>();

  /**
   * Leases that were held for too long. Their work may still run, and may end before their
   * deadlines.
   */
  private final Set<Lease> heldTooLong = new HashSet<>();

  /** Leases of a closing client, with work that was interrupted and has not ended. */
  private final Set<Lease> working = new HashSet<>();

  private boolean isClosed;
  private @Nullable Runnable onEmpty;

  /**
   * @param callbacks runs the code of the user
   */
  Tasks(Loop loop, Executor callbacks) {
    this.loop = loop;
    this.callbacks = callbacks;
  }

  /** The time of the own clock. Any thread may ask. */
  long now() {
    return loop.now();
  }

  Loop.Timer later(long delay, Runnable task) {
    return loop.schedule(delay, task);
  }

  /** Runs code of the user. Any thread may call. */
  void runCallback(Runnable callback) {
    try {
      callbacks.execute(
          () -> {
            try {
              callback.run();
            } catch (RuntimeException | Error e) {
              LOGGER.log(System.Logger.Level.ERROR, "a callback has failed", e);
            }
          });
    } catch (RejectedExecutionException e) {
      LOGGER.log(System.Logger.Level.DEBUG, "the client is closed, so a callback was not run");
    }
  }

  /** A copy of a future whose dependents run outside of the loop. Any thread may call. */
  <T> CompletableFuture<T> inCallbacks(CompletableFuture<T> future) {
    CompletableFuture<T> copy = new CompletableFuture<>();
    future.whenComplete(
        (value, error) ->
            runDetached(
                () -> {
                  if (error == null) {
                    copy.complete(value);
                  } else {
                    copy.completeExceptionally(error);
                  }
                }));
    return copy;
  }

  /** The closing client completes its futures too. */
  private void runDetached(Runnable completion) {
    try {
      callbacks.execute(completion);
    } catch (RejectedExecutionException e) {
      completion.run();
    }
  }

  /**
   * Attaches first, the earliest deadline first, then releases and acquires. All this comes before
   * new acquires.
   */
  void moveTo(Session session) {
    current = session;
    for (Lease lease : leases.byDeadline()) {
      attach(lease, session);
    }
    for (ReleaseTask task : releases.values()) {
      task.place(session);
    }
    for (Intent intent : intents) {
      place(intent, session);
    }
  }

  void acquire(Intent intent) {
    if (intents.size() >= Numbers.Session.MAX_ACQUIRES_UNANSWERED) {
      String text =
          Numbers.Session.MAX_ACQUIRES_UNANSWERED + " acquires of this client wait already";
      int code = Status.Code.RESOURCE_EXHAUSTED.value();
      intent.fail(Errors.of(text, new ErrorFacts("QUOTA_EXCEEDED", code), null));
      return;
    }
    intents.add(intent);
    if (intent.wanted.wait != null) {
      long late =
          Durations.plus(
              Durations.nanos(intent.wanted.wait),
              Durations.millis(Numbers.Limits.ANSWER_AFTER_WAIT_MS));
      intent.lateTimer = later(late, () -> abandon(intent, noAnswerTo(intent)));
    }
    // A server that leaves may refuse new acquires. The next session sends the acquire.
    if (current != null && !current.isLeaving) {
      place(intent, current);
    }
  }

  private static HoldfastException noAnswerTo(Intent intent) {
    String text = "no server answered the acquire of \"" + intent.wanted.name + "\"";
    return Errors.noAnswer(text, intent.lastError);
  }

  /**
   * The caller hears at once. The intent stays until the server has answered, because a grant may
   * be under way. A grant that has come is released.
   */
  void abandon(Intent intent, Throwable error) {
    if (intent.lease != null) {
      release(intent.lease);
      return;
    }
    if (intent.isAbandoned || !intents.contains(intent)) {
      return;
    }
    intent.isAbandoned = true;
    intent.fail(error);
    if (intent.home == null) {
      intents.remove(intent);
      tellEmpty();
    } else {
      cancel(intent, intent.home);
    }
  }

  @Nullable CommandOwner granted(
      Intent intent, dev.holdfast.v1.Lease message, Receipt receipt, Session session, long number) {
    long ttl = Durations.nanos(message.getTtl());
    long until = Deadlines.of(receipt, message.getExpireOffset(), ttl);
    Lease known = leases.get(message.getLeaseId());
    if (known != null) {
      // The grant of an older session was read before the answer of this one.
      known.confirm(until);
      if (known.home == null || known.home.number <= session.number) {
        settle(known, session, number);
      }
      return new LeaseOwner(known, number, this);
    }
    boolean isUnwanted = intent.isAbandoned || leases.isOver(message.getLeaseId());
    if (!intents.remove(intent) || isUnwanted) {
      releaseId(message.getLeaseId(), ttl);
      tellEmpty();
      return null;
    }
    if (until <= now()) {
      grantedTooLate(intent, message, ttl);
      return null;
    }
    Lease lease = begin(intent, message, until);
    // A repetition in a later session attaches to the lease, so only that session speaks for the
    // lease.
    if (intent.home != null && intent.home.number > session.number) {
      lease.home = intent.home;
    } else {
      settle(lease, session, number);
    }
    intent.grant(lease);
    tellEmpty();
    return new LeaseOwner(lease, number, this);
  }

  private Lease begin(Intent intent, dev.holdfast.v1.Lease message, long until) {
    Lease lease = new Lease(message, until, intent.wanted.maxHold, this);
    leases.add(lease);
    intent.lease = lease;
    watch(lease);
    return lease;
  }

  /** A renewal does not move the timer. The timer finds the later deadline when it fires. */
  private void watch(Lease lease) {
    lease.timer =
        later(
            Durations.until(lease.endsAt(), now()),
            () -> {
              if (!lease.isOver()) {
                watch(lease);
              }
            });
  }

  /** The grant is over on arrival, so the work never began. */
  private void grantedTooLate(Intent intent, dev.holdfast.v1.Lease message, long ttl) {
    releaseId(message.getLeaseId(), ttl);
    if (intent.takeNewId()) {
      intents.add(intent);
      intent.home = null;
      if (current != null) {
        place(intent, current);
      }
      return;
    }
    String text = "the grant of \"" + intent.wanted.name + "\" came after the end of its lease";
    intent.fail(Errors.noAnswer(text, null));
    tellEmpty();
  }

  void cancelled(Intent intent) {
    if (intents.remove(intent)) {
      intent.fail(new ClosedException());
    }
    tellEmpty();
  }

  void acquireFailed(Intent intent, HoldfastException error, Session session) {
    if (intent.home != session) {
      return;
    }
    // The repetition of an acquire is the attach of its lease.
    if (intent.lease != null && intent.lease.number == 0) {
      new AttachOwner(intent.lease, this).failed(error, session);
      return;
    }
    if (!intents.contains(intent)) {
      return;
    }
    intent.lastError = error;
    if (error.reason().equals("REQUEST_FINISHED") && intent.takeNewId()) {
      place(intent, session);
    } else if (isRepeated(error)) {
      repeatAcquire(intent, error, session);
    } else {
      intents.remove(intent);
      intent.fail(error);
      tellEmpty();
    }
  }

  private void repeatAcquire(Intent intent, HoldfastException error, Session session) {
    intent.attempts++;
    // The next session sends the acquire again.
    if (session.isLeaving && error.reason().equals("DRAINING")) {
      return;
    }
    later(
        Pauses.beforeRepeat(intent.attempts, error.retryAfterNanos()),
        () -> {
          if (intent.home == session && intents.contains(intent)) {
            place(intent, session);
          }
        });
  }

  /**
   * Whether a repetition with the same id may help. An unknown reason is treated as its code says.
   */
  static boolean isRepeated(HoldfastException error) {
    return Numbers.Reasons.COMMAND_IS_REPEATED.contains(error.reason())
        || error.code() == Status.Code.UNAVAILABLE.value();
  }

  private void place(Intent intent, Session session) {
    intent.home = session;
    intent.commandId = session.run(intent.command(now()), intent);
    if (intent.isAbandoned) {
      cancel(intent, session);
    }
  }

  private static void cancel(Intent intent, Session session) {
    CancelCommand.Builder command = CancelCommand.newBuilder().setCommandId(intent.commandId);
    session.run(SessionCommand.newBuilder().setCancel(command), null);
  }

  /** Called once for each lease, by the thread that noticed its end. */
  void over(Lease lease, LossCause cause) {
    if (loop.isHere()) {
      ended(lease, cause);
    } else {
      loop.execute(() -> ended(lease, cause));
    }
  }

  private void ended(Lease lease, LossCause cause) {
    leases.end(lease);
    if (lease.timer != null) {
      lease.timer.cancel();
    }
    if (lease.update != null) {
      lease.update.fail(new LeaseLostException(lease.name(), cause, null));
    }
    if (cause == LossCause.RELEASED) {
      return;
    }
    LOGGER.log(
        System.Logger.Level.WARNING, "the lease of \"{0}\" is over: {1}", lease.name(), cause.text);
    // The session still renews the lease. Nobody may rely on the lease after its deadline, whatever
    // the work does.
    if (cause == LossCause.DEADLINE) {
      lease.releaseAnswer = releaseId(lease.id, lease.ttl);
    }
    if (cause == LossCause.MAX_HOLD) {
      heldTooLong.add(lease);
      later(Durations.until(lease.deadline(), now()), () -> release(lease));
    }
  }

  /** Releases a lease that is over for this process. Any thread may call. */
  CompletableFuture<ReleaseAnswer> releaseSoon(Lease lease) {
    CompletableFuture<ReleaseAnswer> answer = new CompletableFuture<>();
    Runnable task =
        () ->
            release(lease)
                .whenComplete(
                    (value, error) -> {
                      if (error == null) {
                        answer.complete(value);
                      } else {
                        answer.completeExceptionally(error);
                      }
                    });
    if (!loop.execute(task)) {
      answer.completeExceptionally(new ClosedException());
    }
    return answer;
  }

  CompletableFuture<ReleaseAnswer> release(Lease lease) {
    working.remove(lease);
    heldTooLong.remove(lease);
    lease.end(LossCause.RELEASED);
    if (lease.releaseAnswer == null) {
      // The lease is held elsewhere, and is not this client's to end.
      lease.releaseAnswer =
          lease.lossCause() == LossCause.SUPERSEDED
              ? CompletableFuture.completedFuture(ReleaseAnswer.HELD_ELSEWHERE)
              : releaseId(lease.id, lease.ttl);
    }
    tellEmpty();
    return lease.releaseAnswer;
  }

  CompletableFuture<ReleaseAnswer> releaseId(String leaseId, long ttl) {
    ReleaseTask known = releases.get(leaseId);
    if (known != null) {
      return known.answer;
    }
    if (isClosed) {
      return CompletableFuture.failedFuture(new ClosedException());
    }
    ReleaseTask task = new ReleaseTask(leaseId, ttl, this);
    releases.put(leaseId, task);
    if (current != null) {
      task.place(current);
    }
    return task.answer;
  }

  void releaseEnded(ReleaseTask task) {
    releases.remove(task.leaseId, task);
    tellEmpty();
  }

  /** Any thread may call. */
  CompletableFuture<Void> update(Lease lease, Map<String, String> metadata) {
    UpdateTask task = new UpdateTask(lease, metadata, this);
    if (!loop.execute(() -> begin(lease, task))) {
      task.answer.completeExceptionally(new ClosedException());
    }
    return task.answer;
  }

  private static void begin(Lease lease, UpdateTask task) {
    if (lease.isOver()) {
      LossCause cause = lease.lossCause();
      task.answer.completeExceptionally(
          new LeaseLostException(lease.name(), cause == null ? LossCause.RELEASED : cause, null));
    } else if (lease.update != null) {
      task.answer.completeExceptionally(
          new IllegalStateException("an earlier update of this lease has no answer yet"));
    } else {
      lease.update = task;
      task.place();
    }
  }

  void attached(Lease lease, Session session, long number) {
    settle(lease, session, number);
    LOGGER.log(
        System.Logger.Level.DEBUG,
        "{0} renews the lease of \"{1}\"",
        session.address,
        lease.name());
  }

  void renewalFailed(Lease lease) {
    LOGGER.log(
        System.Logger.Level.WARNING, "a renewal of the lease of \"{0}\" has failed", lease.name());
  }

  private void attach(Lease lease, Session session) {
    lease.home = session;
    lease.number = 0;
    AttachCommand.Builder command = AttachCommand.newBuilder().setLeaseId(lease.id);
    session.run(SessionCommand.newBuilder().setAttach(command), new AttachOwner(lease, this));
  }

  void repeatAttach(Lease lease, HoldfastException error, Session session) {
    lease.attachAttempts++;
    long pause = Pauses.beforeRepeat(lease.attachAttempts, error.retryAfterNanos());
    // Half of the remaining time is left for another attempt.
    long half = Durations.until(lease.deadline(), now()) / 2;
    later(
        Math.max(Pauses.SHORTEST, Math.min(pause, half)),
        () -> {
          if (lease.home == session && lease.number == 0 && !lease.isOver()) {
            attach(lease, session);
          }
        });
  }

  private static void settle(Lease lease, Session session, long number) {
    lease.home = session;
    lease.number = number;
    lease.attachAttempts = 0;
    if (lease.update != null) {
      lease.update.place();
    }
  }

  /** Ends all waits and releases all leases. Calls {@code whenEmpty} once after the last answer. */
  void finish(Runnable whenEmpty) {
    onEmpty = whenEmpty;
    for (Intent intent : List.copyOf(intents)) {
      abandon(intent, new ClosedException());
    }
    List<Lease> rest = new ArrayList<>(leases.byDeadline());
    rest.addAll(heldTooLong);
    for (Lease lease : rest) {
      // The release never comes before the end of the work.
      BodyThread body = lease.bodyOrRelease();
      if (body == null) {
        release(lease);
      } else {
        working.add(lease);
        body.stop();
      }
    }
    tellEmpty();
  }

  /**
   * The servers refuse this client. The deadlines of the held leases decide how long their work may
   * go on.
   */
  void failWaits(HoldfastException error) {
    for (Intent intent : List.copyOf(intents)) {
      intents.remove(intent);
      intent.fail(error);
    }
    tellEmpty();
  }

  void close() {
    isClosed = true;
    failWaits(new ClosedException());
    for (ReleaseTask task : List.copyOf(releases.values())) {
      task.fail(new ClosedException());
    }
    for (Lease lease : leases.byDeadline()) {
      lease.end(LossCause.RELEASED);
    }
  }

  private void tellEmpty() {
    if (onEmpty != null && intents.isEmpty() && releases.isEmpty() && working.isEmpty()) {
      Runnable told = onEmpty;
      onEmpty = null;
      told.run();
    }
  }
}
