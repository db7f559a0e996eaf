package dev.holdfast.client;

import dev.holdfast.v1.SessionStart;
import java.util.Map;
import java.util.UUID;

/** The first message of each next session. Belongs to the loop. */
final class SessionStarts {
  private final String holderId;
  private final Map<String, String> metadata;
  private final String clientId = UUID.randomUUID().toString();
  private long count;

  SessionStarts(String holderId, Map<String, String> metadata) {
    this.holderId = holderId;
    this.metadata = metadata;
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
