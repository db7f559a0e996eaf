package dev.holdfast.client;

import dev.holdfast.v1.MetadataUpdate;
import dev.holdfast.v1.SessionCommand;
import dev.holdfast.v1.SessionEvent;
import dev.holdfast.v1.UpdateCommand;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One update of metadata. Repeated after each attach, because a lease number is valid in one
 * session only. Belongs to the loop, except {@link #answer}.
 */
final class UpdateTask implements CommandOwner {
  /** A caller that waits no longer cancels the answer. */
  final CompletableFuture<Void> answer = new CompletableFuture<>();

  private final HeldLease lease;
  private final UnaryOperator<Map<String, String>> change;
  private final Tasks tasks;
  private Map<String, String> metadata = Map.of();
  private Loop.@Nullable Timer limit;
  private int attempts;

  /** Why the latest attempt failed. */
  private @Nullable HoldfastException lastError;

  UpdateTask(HeldLease lease, UnaryOperator<Map<String, String>> change, Tasks tasks) {
    this.lease = lease;
    this.change = change;
    this.tasks = tasks;
  }

  /** Takes a turn. The time limit covers the wait for the turn and the answer. */
  void enqueue() {
    String text = "no server answered the update of " + Texts.quoted(lease.name());
    limit =
        tasks.later(
            Durations.millis(Numbers.Limits.CALL_MS), () -> fail(tasks.noAnswer(text, lastError)));
    lease.updates.add(this);
    // Another thread may have cancelled the answer before the update was in the queue.
    answer.whenComplete((done, error) -> tasks.runInLoop(this::end));
  }

  /** Makes the metadata from the present ones, and sends the update for the first time. */
  void begin() {
    try {
      metadata = Texts.checkedMetadata(change.apply(lease.shown));
    } catch (IllegalArgumentException e) {
      fail(e);
      return;
    }
    place();
  }

  /** Sends the update if the lease is in a session. Otherwise the answer to the attach sends it. */
  void place() {
    Session home = lease.home;
    if (home == null || lease.number == 0) {
      return;
    }
    UpdateCommand.Builder command =
        UpdateCommand.newBuilder()
            .setLeaseNumber(lease.number)
            .setMetadataUpdate(MetadataUpdate.newBuilder().putAllEntries(metadata));
    home.run(SessionCommand.newBuilder().setUpdate(command), this);
  }

  void fail(Throwable error) {
    answer.completeExceptionally(error);
  }

  private void end() {
    if (limit != null) {
      limit.cancel();
    }
    lease.updates.remove(this);
  }

  /** An update that has ended is not sent any more, and a late answer has no effect. */
  @Override
  public boolean isOver() {
    return answer.isDone();
  }

  @Override
  public @Nullable CommandOwner event(SessionEvent event, Receipt receipt, Session session) {
    if (isOver()) {
      return null;
    }
    if (event.hasUpdated()) {
      lease.shown = metadata;
      answer.complete(null);
    } else if (event.hasFailed() && lease.home == session) {
      failed(Errors.ofCommand(event.getFailed()), session);
    }
    return null;
  }

  private void failed(HoldfastException error, Session session) {
    if (!Tasks.isRepeated(error)) {
      fail(error);
      return;
    }
    lastError = error;
    attempts++;
    tasks.later(
        Pauses.beforeRepeat(attempts, error.retryAfterNanos()),
        () -> {
          if (!isOver() && lease.home == session) {
            place();
          }
        });
  }
}
