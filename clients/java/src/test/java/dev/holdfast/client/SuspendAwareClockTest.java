package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SuspendAwareClockTest {
  private long monotonic = 1_000;
  private long boot = Duration.ofHours(5).toNanos();

  private void pass(Duration awake, Duration suspended) {
    monotonic += awake.toNanos();
    boot += awake.plus(suspended).toNanos();
  }

  @Test
  @DisplayName("the clock counts a suspend, which the monotonic clock does not")
  void suspend() {
    SuspendAwareClock clock = new SuspendAwareClock(() -> monotonic, () -> boot);
    pass(Duration.ofSeconds(1), Duration.ZERO);
    assertEquals(Duration.ofSeconds(1).toNanos(), clock.now());
    pass(Duration.ofSeconds(1), Duration.ofMinutes(3));
    assertEquals(Duration.ofSeconds(182).toNanos(), clock.now());
  }

  @Test
  @DisplayName("the resolution of the uptime is no suspend, and the clock never goes back")
  void resolution() {
    SuspendAwareClock clock = new SuspendAwareClock(() -> monotonic, () -> boot);
    pass(Duration.ofSeconds(1), Duration.ofMillis(90));
    assertEquals(Duration.ofSeconds(1).toNanos(), clock.now());
    pass(Duration.ofSeconds(1), Duration.ofMillis(-90));
    assertEquals(Duration.ofSeconds(2).toNanos(), clock.now());
  }

  @Test
  @DisplayName("a platform without an uptime has the monotonic clock")
  void withoutUptime() {
    SuspendAwareClock clock = new SuspendAwareClock(() -> monotonic, () -> Long.MIN_VALUE);
    pass(Duration.ofSeconds(1), Duration.ofMinutes(3));
    assertEquals(Duration.ofSeconds(1).toNanos(), clock.now());
  }
}
