package dev.holdfast.client;

import dev.holdfast.v1.AttachCommand;
import dev.holdfast.v1.SessionCommand;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What outlives a session: leases, acquires without an answer, releases without an answer. Belongs
 * to the loop, except the methods that say otherwise.
 */
final class Tasks {
  final HeldLeases leases = new HeldLeases();

  /** The session that gets new commands. */
  @Nullable Session current;

  /** Why no session has started since the last one. */
  volatile @Nullable HoldfastException sessionError;

  final Callbacks callbacks;
  final Acquires acquires = new Acquires(this);
  final Releases releases = new Releases(this);
  private final Loop loop;

  /**
   * Leases that were held for too long. Their work may still run, and may end before their
   * deadlines.
   */
  private final Set<HeldLease> heldTooLong = new HashSet<>();

  /** Lost leases of a closing client, with work that has not ended. */
  private final Set<HeldLease> working = new HashSet<>();

  private @Nullable Runnable onEmpty;

  /**
   * @param callbacks runs the code of the user
   */
  Tasks(Loop loop, Executor callbacks) {
    this.loop = loop;
    this.callbacks = new Callbacks(callbacks);
  }

  /** The time of the own clock. Any thread may ask. */
  long now() {
    return loop.now();
  }

  Loop.Timer later(long delay, Runnable task) {
    return loop.schedule(delay, task);
  }

  /**
   * Attaches first, the earliest deadline first, then releases and acquires. All this comes before
   * new acquires.
   */
  void moveTo(Session session) {
    current = session;
    for (HeldLease lease : leases.byDeadline()) {
      attach(lease, session);
    }
    releases.moveTo(session);
    acquires.moveTo(session);
  }

  /** A renewal does not move the timer. The timer finds the later deadline when it fires. */
  void watch(HeldLease lease) {
    lease.timer =
        later(
            Durations.until(lease.endsAt(), now()),
            () -> {
              if (!lease.isOver()) {
                watch(lease);
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

  /** Called once for each lease, by the thread that noticed its end. */
  void over(HeldLease lease, LossCause cause) {
    runInLoop(() -> ended(lease, cause));
  }

  /** Runs a task at once if the caller is in the loop. Any thread may call. */
  void runInLoop(Runnable task) {
    if (loop.isHere()) {
      task.run();
    } else {
      loop.execute(task);
    }
  }

  private void ended(HeldLease lease, LossCause cause) {
    leases.end(lease);
    if (lease.timer != null) {
      lease.timer.cancel();
    }
    lease.updates.failAll(new LeaseLostException(lease.name(), cause, null));
    if (lease.lossCause() == null || cause == LossCause.CLOSED) {
      return;
    }
    Log.warning("the lease of {0} is over: {1}", Texts.quoted(lease.name()), cause.text);
    // The session still renews the lease. Nobody may rely on the lease after its deadline, whatever
    // the work does.
    if (cause == LossCause.DEADLINE) {
      lease.releaseAnswer = releases.release(lease.id, lease.ttl);
    }
    if (cause == LossCause.MAX_HOLD) {
      heldTooLong.add(lease);
      later(Durations.until(lease.deadline(), now()), () -> release(lease));
    }
  }

  /** Releases a lease that is over for this process. Any thread may call. */
  CompletableFuture<ReleaseAnswer> releaseSoon(HeldLease lease) {
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

  CompletableFuture<ReleaseAnswer> release(HeldLease lease) {
    working.remove(lease);
    heldTooLong.remove(lease);
    lease.endBeforeRelease();
    if (lease.releaseAnswer == null) {
      // The lease is held elsewhere, and is not this client's to end.
      lease.releaseAnswer =
          lease.lossCause() == LossCause.SUPERSEDED
              ? CompletableFuture.completedFuture(ReleaseAnswer.HELD_ELSEWHERE)
              : releases.release(lease.id, lease.ttl);
    }
    tellEmpty();
    return lease.releaseAnswer;
  }

  /** Any thread may call. */
  CompletableFuture<Void> update(HeldLease lease, UnaryOperator<Map<String, String>> change) {
    UpdateTask task = new UpdateTask(lease, change, this);
    if (!loop.execute(() -> begin(lease, task))) {
      task.answer.completeExceptionally(new ClosedException());
    }
    return task.answer;
  }

  /**
   * The error of a command without an answer. Says why no session lasts, or else why the last
   * attempt of the command failed. Any thread may call.
   */
  HoldfastException noAnswer(String what, @Nullable HoldfastException last) {
    HoldfastException why = sessionError;
    return Errors.noAnswer(what, why == null ? last : why);
  }

  private static void begin(HeldLease lease, UpdateTask task) {
    if (lease.isOver()) {
      LossCause cause = lease.lossCause();
      task.answer.completeExceptionally(
          new LeaseLostException(lease.name(), cause == null ? LossCause.RELEASED : cause, null));
    } else {
      task.enqueue();
    }
  }

  void attached(HeldLease lease, Session session, long number) {
    settle(lease, session, number);
    Log.debug("{0} renews the lease of {1}", session.address, Texts.quoted(lease.name()));
  }

  void renewalFailed(HeldLease lease) {
    Log.warning("a renewal of the lease of {0} has failed", Texts.quoted(lease.name()));
  }

  void attach(HeldLease lease, Session session) {
    lease.home = session;
    lease.number = 0;
    AttachCommand.Builder command = AttachCommand.newBuilder().setLeaseId(lease.id);
    session.run(SessionCommand.newBuilder().setAttach(command), new AttachOwner(lease, this));
  }

  void repeatAttach(HeldLease lease, HoldfastException error, Session session) {
    lease.attachAttempts++;
    long pause = Pauses.beforeRepeat(lease.attachAttempts, error.retryAfterNanos());
    later(
        Pauses.beforeDeadline(pause, Durations.until(lease.deadline(), now())),
        () -> {
          if (lease.home == session && lease.number == 0 && !lease.isOver()) {
            attach(lease, session);
          }
        });
  }

  static void settle(HeldLease lease, Session session, long number) {
    lease.home = session;
    lease.number = number;
    lease.attachAttempts = 0;
    lease.updates.attached();
  }

  /**
   * Ends all waits and the belief in all leases, and releases the leases. Calls {@code whenEmpty}
   * once after the last answer.
   */
  void finish(Runnable whenEmpty) {
    onEmpty = whenEmpty;
    acquires.abandonAll();
    List<HeldLease> rest = new ArrayList<>(leases.byDeadline());
    rest.addAll(heldTooLong);
    for (HeldLease lease : rest) {
      lease.lose(LossCause.CLOSED);
      // The release never comes before the end of the work. Work that had lost its lease before may
      // never end.
      if (!lease.isWorking()) {
        release(lease);
      } else if (lease.lossCause() == LossCause.CLOSED) {
        working.add(lease);
      }
    }
    tellEmpty();
  }

  void close() {
    acquires.failAll(new ClosedException());
    releases.close();
    for (HeldLease lease : leases.byDeadline()) {
      lease.lose(LossCause.CLOSED);
    }
  }

  void tellEmpty() {
    if (onEmpty != null && acquires.isEmpty() && releases.isEmpty() && working.isEmpty()) {
      Runnable told = onEmpty;
      onEmpty = null;
      told.run();
    }
  }
}
