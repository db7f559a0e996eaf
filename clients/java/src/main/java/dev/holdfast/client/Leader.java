package dev.holdfast.client;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The leader of an election. */
public final class Leader {
  /** The metadata entry of the lease that has the leader's value. */
  static final String VALUE = "value";

  private final String value;
  private final long fencingToken;
  private final String holderId;

  Leader(String value, long fencingToken, String holderId) {
    this.value = value;
    this.fencingToken = fencingToken;
    this.holderId = holderId;
  }

  /** The metadata of a lease of a leader: the value and the entries of the caller. */
  static Map<String, String> metadata(Map<String, String> entries, String value) {
    Map<String, String> all = new HashMap<>(entries);
    all.put(VALUE, value);
    return Map.copyOf(all);
  }

  /** The text that the leader has given, for example its address. */
  public String value() {
    return value;
  }

  /** Rises with each leader. */
  public long fencingToken() {
    return fencingToken;
  }

  /** The label of the leader's process. */
  public String holderId() {
    return holderId;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Leader
        && value.equals(((Leader) other).value)
        && fencingToken == ((Leader) other).fencingToken
        && holderId.equals(((Leader) other).holderId);
  }

  @Override
  public int hashCode() {
    return Objects.hash(value, fencingToken, holderId);
  }

  @Override
  public String toString() {
    return "Leader[value=" + value + ", fencingToken=" + fencingToken + "]";
  }
}
