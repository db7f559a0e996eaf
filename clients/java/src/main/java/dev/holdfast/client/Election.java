package dev.holdfast.client;

import dev.holdfast.v1.GetLockRequest;
import dev.holdfast.v1.Holder;
import dev.holdfast.v1.Lock;
import dev.holdfast.v1.LockServiceGrpc;
import dev.holdfast.v1.WatchLockRequest;
import dev.holdfast.v1.WatchLockResponse;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An election: the holder of the lock with this name is the leader. */
public final class Election {
  private final Client client;
  private final String name;

  Election(Client client, String name) {
    this.client = client;
    this.name = Texts.checked(name, "name");
  }

  /**
   * A request to lead: {@code acquire()} waits until this process is the leader, and closing the
   * lease resigns. {@code run} leads as long as the work runs.
   *
   * @param value what the others see of the leader, for example its address
   */
  public LockRequest campaign(String value) {
    Wanted wanted = new Wanted(name, true);
    wanted.leaderValue = Texts.checked(value, "value");
    wanted.metadata = client.metadata;
    return new LockRequest(client, wanted);
  }

  /**
   * Replaces the value of a lease of {@link #campaign}, and leaves its other metadata. Waits as
   * {@link Lease#updateMetadata} does.
   *
   * @throws IllegalArgumentException if the lease is not the lease of a leader, or if no message
   *     can have the value
   */
  public void updateValue(Lease lease, String value) {
    if (!lease.held.isLeader) {
      throw new IllegalArgumentException(lease + " is not the lease of a leader");
    }
    Texts.checked(value, "value");
    lease.held.update(shown -> Leader.metadata(shown, value));
  }

  /** The present leader. Empty: there is none. */
  public Optional<Leader> leader() {
    GetLockRequest request = GetLockRequest.newBuilder().setName(name).build();
    return leaderOf(client.calls.unary(LockServiceGrpc.getGetLockMethod(), request).getLock());
  }

  /**
   * Calls the listener with the leader at once, and after each change. Empty while there is none.
   * The calls come one after the other, on a thread of the client.
   */
  public Observation observe(Consumer<Optional<Leader>> listener) {
    Objects.requireNonNull(listener, "listener");
    WatchLockRequest request = WatchLockRequest.newBuilder().setName(name).build();
    return new Watch<>(client, LockServiceGrpc.getWatchLockMethod(), request, new Changes(listener))
        .start();
  }

  private static Optional<Leader> leaderOf(Lock lock) {
    if (lock.getHoldersCount() == 0) {
      return Optional.empty();
    }
    Holder holder = lock.getHolders(0);
    String value = holder.getMetadataOrDefault(Leader.VALUE, "");
    return Optional.of(new Leader(value, holder.getFencingToken(), holder.getHolderId()));
  }

  /** Passes on what differs from the time before. */
  private static final class Changes implements Consumer<WatchLockResponse> {
    private final Consumer<Optional<Leader>> listener;
    private @Nullable Optional<Leader> last;

    Changes(Consumer<Optional<Leader>> listener) {
      this.listener = listener;
    }

    @Override
    public void accept(WatchLockResponse response) {
      Optional<Leader> leader = leaderOf(response.getLock());
      if (!leader.equals(last)) {
        last = leader;
        listener.accept(leader);
      }
    }
  }
}
