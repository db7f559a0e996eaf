package dev.holdfast.client;

import dev.holdfast.v1.SessionStart;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** The server and the first message of each next session. Belongs to the loop. */
final class SessionStarts {
  private final List<String> addresses;
  private final String holderId;
  private final Map<String, String> metadata;
  private final String clientId = UUID.randomUUID().toString();
  private long count;

  SessionStarts(List<String> addresses, String holderId, Map<String, String> metadata) {
    this.addresses = addresses;
    this.holderId = holderId;
    this.metadata = metadata;
  }

  /** The address of the next session: each server has its turn. */
  String address() {
    return addresses.get((int) (count % addresses.size()));
  }

  /** The first message of the next session. Later sessions have greater numbers. */
  SessionStart next() {
    count++;
    return SessionStart.newBuilder()
        .setClientId(clientId)
        .setSessionNumber(count)
        .setHolderId(holderId)
        .putAllMetadata(metadata)
        .build();
  }
}
