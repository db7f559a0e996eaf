package dev.holdfast.client;

import dev.holdfast.v1.LockMode;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What to acquire, without the fields that change from one attempt to the next. Copied before each
 * change.
 */
final class Wanted implements Cloneable {
  final String name;
  final boolean isLock;
  LockMode mode = LockMode.LOCK_MODE_EXCLUSIVE;
  @Nullable Integer permits;
  @Nullable Integer limit;

  /** Whether the limit is demanded. */
  boolean isExact;

  @Nullable Duration ttl;

  /** Null: without bound. */
  @Nullable Duration wait;

  @Nullable Duration maxHold;

  /** Ends the wait when it completes, in either way. Null: nothing but the caller ends the wait. */
  @Nullable CompletableFuture<?> stop;

  /** Null: the metadata of the client. */
  @Nullable Map<String, String> metadata;

  /** The value of a candidate, which the caller's metadata does not replace. Null: no election. */
  @Nullable String leaderValue;

  @Nullable Consumer<QueuePlace> onQueued;

  Wanted(String name, boolean isLock) {
    this.name = Texts.checked(name, "name");
    this.isLock = isLock;
  }

  Wanted copy() {
    try {
      return (Wanted) clone();
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /** Null: the metadata of the client. */
  @Nullable Map<String, String> allMetadata() {
    if (leaderValue == null) {
      return metadata;
    }
    return Leader.metadata(metadata == null ? Map.of() : metadata, leaderValue);
  }
}
