package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Which failures of a session are final, and the pause before the next session. */
class SessionFailuresTest {
  private final SessionFailures failures = new SessionFailures(() -> 2);

  private boolean isRefused(String reason, Status.Code code) {
    failures.count();
    return failures.isRefused(Errors.of("no", new ErrorFacts(reason, code.value()), null));
  }

  private long pause(long advisedSeconds, long untilDeadline) {
    return failures.pause(Duration.ofSeconds(advisedSeconds).toNanos(), untilDeadline);
  }

  @Test
  @DisplayName("NOT_ALLOWED is final before the first session, and never afterwards")
  void notAllowed() {
    assertTrue(isRefused("NOT_ALLOWED", Status.Code.PERMISSION_DENIED));
    failures.reset();
    for (int i = 0; i < 5; i++) {
      assertFalse(isRefused("NOT_ALLOWED", Status.Code.PERMISSION_DENIED));
    }
  }

  @Test
  @DisplayName("UNIMPLEMENTED of all servers is final before the first session, never afterwards")
  void unimplemented() {
    assertFalse(isRefused("", Status.Code.UNIMPLEMENTED));
    assertTrue(isRefused("", Status.Code.UNIMPLEMENTED));
    failures.reset();
    for (int i = 0; i < 5; i++) {
      assertFalse(isRefused("", Status.Code.UNIMPLEMENTED));
    }
  }

  @Test
  @DisplayName("the pause is the advised one, and leaves half of the time to the nearest deadline")
  void advisedPause() {
    long four = Duration.ofSeconds(4).toNanos();
    assertEquals(Duration.ofSeconds(3).toNanos(), pause(3, Durations.NEVER));
    assertEquals(Pauses.LONGEST, pause(60, Durations.NEVER));
    assertEquals(four / 2, pause(60, four));
    assertEquals(Pauses.SHORTEST, pause(60, -1));
  }
}
