package dev.holdfast.client;

import dev.holdfast.v1.AcquireLockRequest;
import dev.holdfast.v1.AcquirePermitsRequest;
import dev.holdfast.v1.CommandQueued;
import dev.holdfast.v1.SessionCommand;
import dev.holdfast.v1.SessionEvent;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The intent to hold one lease. Repeated by the same {@code request_id} in each next session, until
 * it has an answer. Belongs to the loop, except {@link #answer}.
 */
final class Intent implements CommandOwner {
  final Wanted wanted;

  /** Completed in the loop, so nothing of the user may depend on it directly. */
  final CompletableFuture<Lease> answer = new CompletableFuture<>();

  /**
   * The latest session that was sent the command. An older session does not speak for the intent.
   */
  @Nullable Session home;

  /** The latest attempt has failed, and the next one is not sent yet. */
  boolean isPausing;

  long commandId;

  /** The number of failed attempts in a row. */
  int attempts;

  /** The lease after the grant. */
  @Nullable HeldLease lease;

  /** Why the latest attempt failed. Null after an answer that lets the intent wait. */
  @Nullable HoldfastException lastError;

  /** Whether the caller does not want the lease any more. A late grant is released. */
  boolean isAbandoned;

  /** Ends the wait, and later the abandoned intent. */
  Loop.@Nullable Timer lateTimer;

  private final Tasks tasks;
  private final long startedAt;
  private UUID requestId = UUID.randomUUID();
  private boolean hasSecondId;

  Intent(Wanted wanted, Tasks tasks, long startedAt) {
    this.wanted = wanted;
    this.tasks = tasks;
    this.startedAt = startedAt;
  }

  void grant(HeldLease granted) {
    stopTimer();
    if (!answer.complete(new Lease(granted))) {
      tasks.release(granted);
    }
  }

  void fail(Throwable error) {
    stopTimer();
    answer.completeExceptionally(error);
  }

  /** Whether the server has granted this lease. Any thread may ask. */
  boolean isAnsweredBy(@Nullable Lease granted) {
    return granted != null && !answer.isCompletedExceptionally() && answer.getNow(null) == granted;
  }

  /** Ends the wait, and no granted lease, when the stop completes. Any thread may call. */
  void stopAt(CompletableFuture<?> stop, Loop loop) {
    // anyOf takes itself off the stop, which may outlive many waits, when the answer comes first.
    CompletableFuture.anyOf(stop, answer)
        .whenComplete(
            (value, error) -> {
              if (!answer.isDone()) {
                loop.execute(() -> tasks.acquires.stopWaiting(this));
              }
            });
  }

  void stopTimer() {
    if (lateTimer != null) {
      lateTimer.cancel();
    }
  }

  /**
   * Takes a new {@code request_id}, because the lease of the old one has ended unseen. False: that
   * has happened before.
   */
  boolean takeNewId() {
    if (hasSecondId || isAbandoned) {
      return false;
    }
    hasSecondId = true;
    requestId = UUID.randomUUID();
    return true;
  }

  SessionCommand.Builder command(long now) {
    return wanted.isLock
        ? SessionCommand.newBuilder().setAcquireLock(lockRequest(now))
        : SessionCommand.newBuilder().setAcquirePermits(permitsRequest(now));
  }

  private AcquireLockRequest.Builder lockRequest(long now) {
    AcquireLockRequest.Builder request =
        AcquireLockRequest.newBuilder()
            .setName(wanted.name)
            .setRequestId(requestId.toString())
            .setMode(wanted.mode);
    if (wanted.ttl != null) {
      request.setTtl(Durations.proto(Durations.nanos(wanted.ttl)));
    }
    if (wanted.wait != null) {
      request.setWaitTimeout(Durations.proto(waitLeft(now, wanted.wait)));
    }
    Map<String, String> metadata = wanted.allMetadata();
    return metadata == null ? request : request.putAllMetadata(metadata);
  }

  private AcquirePermitsRequest.Builder permitsRequest(long now) {
    AcquirePermitsRequest.Builder request =
        AcquirePermitsRequest.newBuilder().setName(wanted.name).setRequestId(requestId.toString());
    if (wanted.permits != null) {
      request.setPermitCount(wanted.permits);
    }
    if (wanted.limit != null) {
      request.setInitialLimit(wanted.limit);
    }
    if (wanted.ttl != null) {
      request.setTtl(Durations.proto(Durations.nanos(wanted.ttl)));
    }
    if (wanted.wait != null) {
      request.setWaitTimeout(Durations.proto(waitLeft(now, wanted.wait)));
    }
    Map<String, String> metadata = wanted.allMetadata();
    return metadata == null ? request : request.putAllMetadata(metadata);
  }

  private long waitLeft(long now, java.time.Duration wait) {
    return Math.max(0, Durations.nanos(wait) - (now - startedAt));
  }

  @Override
  public @Nullable CommandOwner event(SessionEvent event, Receipt receipt, Session session) {
    switch (event.getEventCase()) {
      case QUEUED:
        queued(event.getQueued());
        return null;
      case GRANTED:
        return tasks.acquires.granted(
            this, event.getGranted().getLease(), receipt, session, event.getCommandId());
      case CANCELLED:
        tasks.acquires.cancelled(this);
        return null;
      case FAILED:
        tasks.acquires.failed(this, Errors.ofCommand(event.getFailed()), session);
        return null;
      default:
        return null;
    }
  }

  private void queued(CommandQueued queued) {
    lastError = null;
    Consumer<QueuePlace> listener = wanted.onQueued;
    if (listener != null && !isAbandoned) {
      QueuePlace place = new QueuePlace(queued);
      tasks.callbacks.run(() -> listener.accept(place));
    }
  }
}
