package dev.holdfast.client;

import dev.holdfast.v1.MetadataUpdate;
import dev.holdfast.v1.SessionCommand;
import dev.holdfast.v1.SessionEvent;
import dev.holdfast.v1.UpdateCommand;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One update of metadata. Repeated after each attach, because a lease number is valid in one
 * session only.
 */
final class UpdateTask implements CommandOwner {
  final CompletableFuture<Void> answer = new CompletableFuture<>();
  private final Lease lease;
  private final Map<String, String> metadata;
  private final Tasks tasks;
  private int attempts;

  UpdateTask(Lease lease, Map<String, String> metadata, Tasks tasks) {
    this.lease = lease;
    this.metadata = metadata;
    this.tasks = tasks;
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
    lease.update = null;
    answer.completeExceptionally(error);
  }

  @Override
  public @Nullable CommandOwner event(SessionEvent event, Receipt receipt, Session session) {
    if (lease.update != this) {
      return null;
    }
    if (event.hasUpdated()) {
      lease.update = null;
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
