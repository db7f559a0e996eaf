package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.holdfast.v1.LeaseRenewalFailed;
import dev.holdfast.v1.SessionEndCause;
import dev.holdfast.v1.SessionEvent;
import dev.holdfast.v1.SessionLeaving;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Status;
import java.lang.ref.Reference;
import java.text.MessageFormat;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The events of the log, and their levels, as the README of the package lists them. */
class LogTest {
  private final List<String> records = new CopyOnWriteArrayList<>();
  private final List<String> forgotten = new CopyOnWriteArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          String text = MessageFormat.format(record.getMessage(), record.getParameters());
          // Leases of other tests may be forgotten at any time.
          boolean isForgotten = text.contains(" was forgotten ");
          (isForgotten ? forgotten : records).add(record.getLevel() + " " + text);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };
  private final Logger logger = Logger.getLogger("dev.holdfast.client.Holdfast");
  private final @Nullable Level levelBefore = logger.getLevel();
  private final FakeLoop loop = new FakeLoop();
  private final FakeServer server = new FakeServer();
  private final Servers servers = FakeServer.servers("a:1");
  private final Engine engine =
      new Engine(servers, "", Map.of(), this::prepare, server, loop, loop::execute);
  private boolean isCertificateThere = true;

  @BeforeEach
  void listen() {
    logger.setLevel(Level.ALL);
    logger.addHandler(handler);
    logger.setUseParentHandlers(false);
  }

  @AfterEach
  void leaveTheLogger() {
    logger.removeHandler(handler);
    logger.setUseParentHandlers(true);
    logger.setLevel(levelBefore);
  }

  private Opening prepare() throws InterruptedException {
    if (!isCertificateThere) {
      throw new IllegalStateException("ca.pem is missing");
    }
    return new Opening(null, InsecureChannelCredentials.create(), servers.next());
  }

  private Lease acquire(String name) {
    Intent intent = engine.acquire(new Wanted(name, true));
    loop.settle();
    return intent.answer.join();
  }

  /** The records since the last call. */
  private List<String> taken() {
    List<String> taken = new ArrayList<>(records);
    records.removeAll(taken);
    return taken;
  }

  @Test
  @DisplayName("the start, the end and the next session of a client, with the renewals of leases")
  void sessions() {
    engine.start(Durations.NEVER);
    loop.settle();
    assertEquals(List.of("INFO a session with a:1 has started"), taken());
    Lease report = acquire("report");
    server.latest().breakOff();
    loop.advance(Duration.ofSeconds(2));
    assertEquals(
        List.of(
            "WARNING the session with a:1 has ended: UNAVAILABLE",
            "INFO a session with a:1 has started",
            "FINE a:1 renews the lease of \"report\""),
        taken());
    server.latest().say(server.latest().response().setLeaving(SessionLeaving.newBuilder()));
    loop.settle();
    assertEquals("INFO a:1 asks to leave, the next session follows", taken().get(0));
    Reference.reachabilityFence(report);
  }

  @Test
  @DisplayName("a loss and a failed renewal are warnings, and an own release is silent")
  void leases() {
    engine.start(Durations.NEVER);
    loop.settle();
    Lease report = acquire("report");
    Lease released = acquire("other");
    taken();
    server
        .latest()
        .say(
            SessionEvent.newBuilder()
                .setCommandId(1)
                .setRenewalFailed(LeaseRenewalFailed.newBuilder()));
    server.latest().end(1, SessionEndCause.SESSION_END_CAUSE_REVOKED);
    released.releaseAsync();
    loop.settle();
    engine.close(Duration.ofSeconds(5).toNanos());
    loop.settle();
    assertEquals(
        List.of(
            "WARNING a renewal of the lease of \"report\" has failed",
            "WARNING the lease of \"report\" is over: an operator or a new policy revoked it"),
        taken());
    Reference.reachabilityFence(report);
  }

  /** Collects garbage until the log tells that the lease of this name was forgotten. */
  private void collectUntilForgotten(String name) throws InterruptedException {
    while (!forgotten.contains(forgottenLine(name))) {
      System.gc();
      Thread.sleep(5);
    }
  }

  private static String forgottenLine(String name) {
    return "WARNING the lease of \""
        + name
        + "\" was forgotten without a release: the client renews it until it is closed";
  }

  @Test
  @Timeout(60)
  @DisplayName("a lease that was forgotten without a release is one warning, and is renewed on")
  void forgottenLeases() throws InterruptedException {
    engine.start(Durations.NEVER);
    loop.settle();
    acquire("first of two");
    collectUntilForgotten("first of two");
    acquire("second of two");
    collectUntilForgotten("second of two");
    forgotten.removeIf(line -> !line.contains(" of two"));
    assertEquals(List.of(forgottenLine("first of two"), forgottenLine("second of two")), forgotten);
    assertEquals(2, engine.tasks.leases.count());
  }

  @Test
  @Timeout(60)
  @DisplayName("a lease that is over, or that the program still has in some form, is not forgotten")
  void notForgotten() throws Exception {
    engine.start(Durations.NEVER);
    loop.settle();
    acquire("is lost");
    acquire("is released").releaseAsync();
    server.latest().end(1, SessionEndCause.SESSION_END_CAUSE_REVOKED);
    loop.settle();
    Lease kept = acquire("is kept");
    CompletableFuture<LeaseLostException> loss = acquire("is known by its future").lost();
    UnderLease.<Void, Exception>run(
        acquire("is worked under"),
        lease -> {
          acquire("of these");
          collectUntilForgotten("of these");
          return null;
        });
    forgotten.removeIf(line -> !line.contains("\"is "));
    assertEquals(List.of(), forgotten);
    Reference.reachabilityFence(kept);
    Reference.reachabilityFence(loss);
  }

  @Test
  @DisplayName("a missing certificate and a refusal are warnings")
  void refusals() {
    isCertificateThere = false;
    server.isAnswering = false;
    engine.start(Durations.NEVER);
    loop.settle();
    assertEquals(
        List.of("WARNING the client has no token or no certificate: ca.pem is missing"), taken());
    isCertificateThere = true;
    loop.advance(Duration.ofSeconds(2));
    server.latest().fail(Status.PERMISSION_DENIED);
    assertEquals(
        List.of(
            "WARNING the session with a:1 has ended: PERMISSION_DENIED",
            "WARNING the servers refuse this client: PERMISSION_DENIED"),
        taken());
  }

  @Test
  @DisplayName("failed code of the user is an error, and code that cannot run any more is not")
  void codeOfTheUser() {
    new Callbacks(Runnable::run)
        .run(
            () -> {
              throw new IllegalStateException("not today");
            });
    new Callbacks(
            task -> {
              throw new RejectedExecutionException();
            })
        .run(() -> {});
    Tracing broken =
        (name, attributes) -> {
          throw new IllegalStateException("no exporter");
        };
    new QuietTracing(broken).start("holdfast.acquire", Map.of());
    assertEquals(
        List.of(
            "SEVERE a callback has failed",
            "FINE the client is closed, so a callback was not run",
            "SEVERE the tracing has failed"),
        taken());
  }
}
