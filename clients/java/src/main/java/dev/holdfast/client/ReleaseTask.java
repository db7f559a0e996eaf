package dev.holdfast.client;

import dev.holdfast.v1.ReleaseCommand;
import dev.holdfast.v1.SessionCommand;
import dev.holdfast.v1.SessionEvent;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One release, by {@code lease_id}. Repeated in each next session until the answer comes, or until
 * the lease has surely ended by its ttl.
 */
final class ReleaseTask implements CommandOwner {
  final String leaseId;
  final CompletableFuture<ReleaseAnswer> answer = new CompletableFuture<>();
  @Nullable Session home;

  /** Why the latest attempt failed. The thread that waits for the release reads it too. */
  volatile @Nullable HoldfastException lastError;

  private final Tasks tasks;
  private final Loop.Timer timer;
  private int attempts;

  ReleaseTask(String leaseId, long ttl, Tasks tasks) {
    this.leaseId = leaseId;
    this.tasks = tasks;
    // A session renews a lease for at most one ttl after the release.
    this.timer =
        tasks.later(
            Durations.times(ttl, Numbers.Limits.RELEASE_IS_REPEATED_FOR_TTLS),
            () -> fail(tasks.noAnswer("no server answered the release in time", lastError)));
  }

  void place(Session session) {
    home = session;
    ReleaseCommand.Builder command = ReleaseCommand.newBuilder().setLeaseId(leaseId);
    session.run(SessionCommand.newBuilder().setRelease(command), this);
  }

  void fail(HoldfastException error) {
    timer.cancel();
    answer.completeExceptionally(error);
    tasks.releases.ended(this);
  }

  @Override
  public @Nullable CommandOwner event(SessionEvent event, Receipt receipt, Session session) {
    if (event.hasReleased()) {
      timer.cancel();
      answer.complete(ReleaseAnswer.of(event.getReleased()));
      tasks.releases.ended(this);
    } else if (event.hasFailed() && home == session) {
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
          if (home == session && !answer.isDone()) {
            place(session);
          }
        });
  }
}
