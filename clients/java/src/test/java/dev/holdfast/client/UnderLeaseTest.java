package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.holdfast.v1.SessionEndCause;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Work under a lease, with real threads. */
@Timeout(60)
class UnderLeaseTest {
  private final ThreadLoop loop = new ThreadLoop();
  private final ExecutorService callbacks = Executors.newCachedThreadPool();
  private final FakeServer server = new FakeServer();
  private final Engine engine = server.engine(loop, callbacks, "a:1");

  @BeforeEach
  void connect() {
    engine.start(Durations.NEVER);
    engine.ready.join();
  }

  @AfterEach
  void close() throws InterruptedException {
    engine.close(TimeUnit.SECONDS.toNanos(5)).join();
    loop.end();
    callbacks.shutdownNow();
    assertTrue(callbacks.awaitTermination(30, TimeUnit.SECONDS));
  }

  private Lease acquire(Duration maxHold) {
    Wanted wanted = new Wanted("report", true);
    wanted.maxHold = maxHold;
    return engine.acquire(wanted).answer.join();
  }

  @Test
  @DisplayName(
      "a loss interrupts the body, and the exception follows its end with its own error as cause")
  void lossInterruptsTheBody() {
    Lease lease = acquire(Duration.ofMillis(50));
    LeaseLostException lost =
        assertThrows(
            LeaseLostException.class,
            () ->
                UnderLease.run(
                    lease,
                    held -> {
                      assertThrows(InterruptedException.class, () -> Thread.sleep(60_000));
                      throw new IllegalStateException("not finished");
                    }));
    assertEquals(LossCause.MAX_HOLD, lost.lossCause());
    assertEquals("not finished", lost.getCause().getMessage());
    assertFalse(Thread.currentThread().isInterrupted(), "the interrupt was for the body alone");
  }

  @Test
  @DisplayName("a thread that holds the monitor of a lost lease does not stop the client")
  void monitorOfTheLease() throws Exception {
    Lease lease = acquire(null);
    CompletableFuture<LossCause> told = new CompletableFuture<>();
    lease.onLost(lost -> told.complete(lost.lossCause()));
    synchronized (lease) {
      loop.execute(() -> server.latest().end(1, SessionEndCause.SESSION_END_CAUSE_REVOKED));
      assertEquals(LossCause.REVOKED, told.get(30, TimeUnit.SECONDS));
    }
  }

  @Test
  @DisplayName("the result of the body is returned after the release")
  void result() {
    Lease lease = acquire(null);
    assertEquals(7L, UnderLease.run(lease, Lease::fencingToken));
    assertFalse(lease.isValid());
    assertNull(lease.held.lossCause());
  }

  @Test
  @DisplayName("the interrupt of the caller reaches the body, and the lease is released")
  void callersInterrupt() {
    Lease lease = acquire(null);
    Thread.currentThread().interrupt();
    assertThrows(
        InterruptedException.class,
        () ->
            UnderLease.<Void, InterruptedException>run(
                lease,
                held -> {
                  Thread.sleep(60_000);
                  return null;
                }));
    assertFalse(lease.isValid());
    assertNull(lease.held.lossCause());
  }

  @Test
  @DisplayName("closing a lost lease throws, and a second close does not")
  void closeTellsTheLoss() throws InterruptedException {
    Lease lease = acquire(Duration.ofMillis(20));
    while (lease.isValid()) {
      Thread.sleep(1);
    }
    assertThrows(LeaseLostException.class, lease::close);
    lease.close();
  }

  @Test
  @DisplayName("closing the client is a loss for a body, and releases after the end of the body")
  void closeWaitsForTheBody() {
    Lease lease = acquire(null);
    LeaseLostException lost =
        assertThrows(
            LeaseLostException.class,
            () ->
                UnderLease.<Void, InterruptedException>run(
                    lease,
                    held -> {
                      var closed = engine.close(TimeUnit.SECONDS.toNanos(30));
                      assertThrows(InterruptedException.class, () -> Thread.sleep(60_000));
                      assertFalse(closed.isDone(), "the lease of running work was released");
                      throw new InterruptedException("half of the report");
                    }));
    assertEquals(LossCause.CLOSED, lost.lossCause());
    assertEquals("half of the report", lost.getCause().getMessage());
    engine.close(0).join();
  }

  @Test
  @DisplayName("work does not begin under a lease that is lost")
  void lostBeforeTheBody() {
    Lease lease = acquire(null);
    engine.close(TimeUnit.SECONDS.toNanos(30)).join();
    LeaseLostException lost =
        assertThrows(
            LeaseLostException.class,
            () ->
                UnderLease.<Void, RuntimeException>run(
                    lease,
                    held -> {
                      throw new IllegalStateException("the work began");
                    }));
    assertEquals(LossCause.CLOSED, lost.lossCause());
  }

  @Test
  @DisplayName("after a loss the end of the work waits for no answer, and the release is still sent")
  void lossInABlackHole() {
    Lease lease = acquire(Duration.ofMillis(50));
    server.isAnswering = false;
    long begin = System.nanoTime();
    assertThrows(
        LeaseLostException.class,
        () ->
            UnderLease.run(
                lease,
                held -> {
                  assertThrows(InterruptedException.class, () -> Thread.sleep(60_000));
                  return null;
                }));
    lease.close();
    long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
    assertTrue(waited < Numbers.Limits.RELEASE_MS, "the end came after " + waited + " ms");
    assertFalse(lease.releaseAsync().isDone(), "the release has an answer");
    server.isAnswering = true;
  }
}
