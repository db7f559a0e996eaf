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
 * session only.
 */
final class UpdateTask implements CommandOwner {
  final CompletableFuture<Void> answer = new CompletableFuture<>();
  private final Lease lease;
  private final UnaryOperator<Map<String, String>> change;
  private final Tasks tasks;
  private Map<String, String> metadata = Map.of();
  private Loop.@Nullable Timer limit;
  private int attempts;

  UpdateTask(Lease lease, UnaryOperator<Map<String, String>> change, Tasks tasks) {
    this.lease = lease;
    this.change = change;
    this.tasks = tasks;
  }

  /** Sends the update, and repeats it within the time limit. */
  void begin() {
    try {
      metadata = Texts.checkedMetadata(change.apply(lease.shown));
    } catch (IllegalArgumentException e) {
      fail(e);
      return;
    }
    String text = "no server answered the update of " + Texts.quoted(lease.name());
    limit =
        tasks.later(
            Durations.millis(Numbers.Limits.CALL_MS), () -> fail(tasks.noAnswer(text, null)));
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
    end();
    answer.completeExceptionally(error);
  }

  private void end() {
    if (limit != null) {
      limit.cancel();
    }
    if (lease.update == this) {
      lease.update = null;
    }
  }

  @Override
  public @Nullable CommandOwner event(SessionEvent event, Receipt receipt, Session session) {
    if (lease.update != this) {
      return null;
    }
    if (event.hasUpdated()) {
      end();
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
    attempts++;
    tasks.later(
        Pauses.beforeRepeat(attempts, error.retryAfterNanos()),
        () -> {
          if (lease.update == this && lease.home == session) {
            place();
          }
        });
  }
}
