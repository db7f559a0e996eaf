package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.security.cert.CertificateExpiredException;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Which failed calls are repeated, and when a server is left. */
class RepetitionTest {
  private final Channels channels = new Channels(null);

  private static HoldfastException error(String reason, Status.Code code) {
    return Errors.of("no", new ErrorFacts(reason, code.value()), null);
  }

  private static boolean isRepeated(boolean isIdempotent, HoldfastException error) {
    return new Repetition(isIdempotent).pauseAfter(error, true).isPresent();
  }

  @Test
  @DisplayName("a call that counts is repeated only if the server has not carried it out")
  void counted() {
    assertFalse(isRepeated(false, error("", Status.Code.UNAVAILABLE)));
    assertFalse(isRepeated(false, error("OUTCOME_UNKNOWN", Status.Code.UNAVAILABLE)));
    assertTrue(isRepeated(false, error("DRAINING", Status.Code.UNAVAILABLE)));
    assertTrue(isRepeated(true, error("", Status.Code.UNAVAILABLE)));
    assertTrue(isRepeated(true, error("OUTCOME_UNKNOWN", Status.Code.UNAVAILABLE)));
  }

  @Test
  @DisplayName("an unknown reason is treated as its code says")
  void unknownReason() {
    assertTrue(isRepeated(true, error("MOON_IS_FULL", Status.Code.UNAVAILABLE)));
    assertFalse(isRepeated(false, error("MOON_IS_FULL", Status.Code.UNAVAILABLE)));
    assertFalse(isRepeated(true, error("MOON_IS_FULL", Status.Code.INTERNAL)));
  }

  @Test
  @DisplayName("a reset stream is repeated once, and a late answer until the end of the time")
  void withoutReason() {
    Repetition repetition = new Repetition(true);
    assertTrue(repetition.pauseAfter(error("", Status.Code.INTERNAL), true).isPresent());
    assertFalse(repetition.pauseAfter(error("", Status.Code.INTERNAL), true).isPresent());
    assertTrue(isRepeated(true, error("", Status.Code.DEADLINE_EXCEEDED)));
    assertFalse(isRepeated(true, error("NOT_ALLOWED", Status.Code.PERMISSION_DENIED)));
  }

  @Test
  @DisplayName("a refused credential is fetched once more, and a missing one again and again")
  void credentials() {
    HoldfastException refused = error("BAD_CREDENTIAL", Status.Code.UNAUTHENTICATED);
    Repetition repetition = new Repetition(true);
    assertEquals(0, repetition.pauseAfter(refused, true).getAsLong());
    assertFalse(repetition.pauseAfter(refused, true).isPresent());
    repetition.answered();
    assertTrue(repetition.pauseAfter(refused, true).isPresent());
    HoldfastException missing = error("NO_CREDENTIAL", Status.Code.UNAUTHENTICATED);
    for (int i = 0; i < 5; i++) {
      assertTrue(repetition.pauseAfter(missing, false).getAsLong() > 0);
    }
  }

  @Test
  @DisplayName("an attempt leaves a part of the time to the next one")
  void attempts() {
    long ten = Duration.ofSeconds(10).toNanos();
    assertEquals(Duration.ofSeconds(6).toNanos(), Repetition.attemptNanos(ten, true));
    assertEquals(ten, Repetition.attemptNanos(ten, false));
    long half = Duration.ofMillis(500).toNanos();
    assertEquals(half, Repetition.attemptNanos(half, true));
  }

  @Test
  @DisplayName("an unavailable server is left, and one late answer says nothing about a server")
  void leaving() throws InterruptedException {
    Servers both = FakeServer.servers("127.0.0.1:1", "127.0.0.1:2");
    CallServers servers = new CallServers(both, channels);
    try {
      ManagedChannel first = servers.current();
      HoldfastException late = error("", Status.Code.DEADLINE_EXCEEDED);
      servers.failed(first, late);
      servers.asked(first);
      servers.failed(first, late);
      assertSame(first, servers.current());
      Thread.sleep(1100); // the bound of the silence is 1 s
      servers.answered(first);
      servers.failed(first, late);
      assertSame(first, servers.current(), "the server has answered");
      servers.asked(first);
      Thread.sleep(1100);
      servers.failed(first, late);
      ManagedChannel second = servers.current();
      assertNotSame(first, second);
      assertTrue(first.isShutdown());
      servers.failed(first, error("", Status.Code.UNAVAILABLE));
      assertSame(second, servers.current(), "a failure of an earlier connection moves nothing");
    } finally {
      channels.close(Duration.ofSeconds(1).toNanos());
    }
  }

  @Test
  @DisplayName("the text of a broken connection says why")
  void text() {
    Throwable cause = new CertificateExpiredException("NotAfter: yesterday");
    Status status =
        Status.UNAVAILABLE
            .withDescription("io exception\nChannel Pipeline: [SslHandler#0]")
            .withCause(new IllegalStateException("handshake", cause));
    assertEquals("io exception: " + cause, Errors.ofCall(status, null).getMessage());
  }
}
