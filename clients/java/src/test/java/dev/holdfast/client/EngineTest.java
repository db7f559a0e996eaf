package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.holdfast.v1.SessionCommand;
import dev.holdfast.v1.SessionEndCause;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The sessions of a client against a scripted stream, in synthetic time. */
class EngineTest {
  private final FakeLoop loop = new FakeLoop();
  private final FakeServer server = new FakeServer();
  private final Engine engine = server.engine(loop, loop::execute, "a:1", "b:1");

  @BeforeEach
  void connect() {
    engine.start(Durations.NEVER);
    loop.settle();
  }

  private Intent intend(String name) {
    Intent intent = engine.acquire(new Wanted(name, true));
    loop.settle();
    return intent;
  }

  private Lease acquire(String name) {
    return intend(name).answer.join();
  }

  /** The server falls silent, also towards later streams. */
  private void silence() {
    server.isAnswering = false;
  }

  @Test
  @DisplayName("a lease without renewals is lost at its deadline, and is released by its id")
  void deadline() {
    Lease lease = acquire("report");
    List<LossCause> told = new ArrayList<>();
    lease.onLost(lost -> told.add(lost.lossCause()));
    loop.advance(Duration.ofMillis(29_900));
    lease.check();
    assertEquals(List.of(), told);
    loop.advance(Duration.ofMillis(200));
    assertEquals(List.of(LossCause.DEADLINE), told);
    LeaseLostException lost = assertThrows(LeaseLostException.class, lease::check);
    assertEquals(NoticedBy.CLIENT, lost.noticedBy());
    List<SessionCommand> commands = server.latest().commands();
    SessionCommand last = commands.get(commands.size() - 1);
    assertEquals("id-of-report", last.getRelease().getLeaseId());
  }

  @Test
  @DisplayName("check compares the clock before any timer has fired")
  void pausedProcess() {
    Lease lease = acquire("report");
    loop.stop(Duration.ofSeconds(31));
    assertThrows(LeaseLostException.class, lease::check);
    assertThrows(LeaseLostException.class, lease::fencingToken);
    server.latest().renew(1, 60);
    assertFalse(lease.isValid(), "a deadline that has passed stays passed");
  }

  @Test
  @DisplayName("a renewal moves the deadline, counted from the heartbeat that it names")
  void renewal() {
    Lease lease = acquire("report");
    loop.advance(Duration.ofSeconds(6));
    server.latest().renew(1, 30);
    // The latest heartbeat was sent after 5 s.
    assertEquals(Duration.ofSeconds(29), lease.remaining());
  }

  @Test
  @DisplayName("heartbeats come every 5 s, and earlier for a short ttl")
  void heartbeats() {
    loop.advance(Duration.ofSeconds(20));
    assertEquals(5, server.latest().heartbeatCount());
  }

  @Test
  @DisplayName(
      "a silent server is left, and the next session attaches to the lease at the next address")
  void silentServer() {
    acquire("report");
    silence();
    loop.advance(Duration.ofSeconds(13));
    server.isAnswering = true;
    assertTrue(server.streams.get(0).isDestroyed);
    loop.advance(Duration.ofSeconds(8));
    FakeServer.Stream next = server.latest();
    assertNotEquals(1, server.streams.size());
    assertEquals("id-of-report", next.commands().get(0).getAttach().getLeaseId());
    assertEquals("b:1", server.streams.get(1).address);
  }

  @Test
  @DisplayName(
      "attaches come by earliest deadline, before a waiting acquire with the same request id")
  void orderAfterBreak() {
    acquire("first");
    loop.advance(Duration.ofSeconds(6));
    acquire("second");
    server.latest().renew(1, 30);
    silence();
    intend("waiting");
    List<SessionCommand> before = server.latest().commands();
    String requestId = before.get(before.size() - 1).getAcquireLock().getRequestId();
    server.latest().breakOff();
    loop.advance(Duration.ofSeconds(2));
    List<SessionCommand> commands = server.streams.get(1).commands();
    assertEquals("id-of-first", commands.get(0).getAttach().getLeaseId());
    assertEquals("id-of-second", commands.get(1).getAttach().getLeaseId());
    assertEquals(requestId, commands.get(2).getAcquireLock().getRequestId());
  }

  @Test
  @DisplayName("an end by the server is a loss, and a later attach is not sent")
  void endedByServer() {
    Lease lease = acquire("report");
    server.latest().end(1, SessionEndCause.SESSION_END_CAUSE_SUPERSEDED);
    assertEquals(LossCause.SUPERSEDED, lease.held.lossCause());
    server.latest().breakOff();
    loop.advance(Duration.ofSeconds(2));
    assertEquals(List.of(), server.latest().commands());
  }

  @Test
  @DisplayName("a release that this process did not ask for is a loss")
  void releasedByOthers() {
    Lease lease = acquire("report");
    List<LossCause> told = new ArrayList<>();
    lease.onLost(lost -> told.add(lost.lossCause()));
    server.latest().end(1, SessionEndCause.SESSION_END_CAUSE_RELEASED);
    loop.settle();
    assertEquals(List.of(LossCause.RELEASED), told);
    lease.releaseAsync();
    loop.settle();
    assertEquals(LossCause.RELEASED, lease.held.lossCause(), "a later release does not hide the loss");
  }

  @Test
  @DisplayName("an own release is no loss, although the server tells the end of the lease")
  void ownRelease() {
    Lease lease = acquire("report");
    lease.onLost(lost -> assertNull(lost));
    lease.releaseAsync();
    server.latest().end(1, SessionEndCause.SESSION_END_CAUSE_RELEASED);
    loop.settle();
    assertNull(lease.held.lossCause());
  }

  @Test
  @DisplayName("a release is repeated by the next session, and its lease is never attached again")
  void releaseIsRepeated() {
    Lease lease = acquire("report");
    silence();
    var answer = lease.releaseAsync();
    loop.settle();
    assertFalse(lease.isValid());
    server.latest().breakOff();
    server.isAnswering = true;
    loop.advance(Duration.ofSeconds(2));
    assertTrue(answer.join());
    assertTrue(server.latest().commands().stream().noneMatch(SessionCommand::hasAttach));
  }

  @Test
  @DisplayName("a late grant of an abandoned acquire is released")
  void abandoned() {
    silence();
    Intent intent = intend("report");
    engine.abandon(intent, new InterruptedException());
    loop.settle();
    assertTrue(intent.answer.isCompletedExceptionally());
    List<SessionCommand> commands = server.latest().commands();
    assertTrue(commands.get(commands.size() - 1).hasCancel());
    server
        .latest()
        .say(
            dev.holdfast.v1.SessionEvent.newBuilder()
                .setCommandId(1)
                .setGranted(FakeServer.granted("report", "id-of-report")));
    loop.settle();
    commands = server.latest().commands();
    assertEquals("id-of-report", commands.get(commands.size() - 1).getRelease().getLeaseId());
    assertEquals(0, engine.tasks.leases.count());
  }

  @Test
  @DisplayName("commands wait while the stream takes no message, and heartbeats do not")
  void backPressure() {
    FakeServer.Stream stream = server.latest();
    stream.isReady = false;
    intend("report");
    assertEquals(List.of(), stream.commands());
    loop.advance(Duration.ofSeconds(5));
    assertEquals(2, stream.heartbeatCount());
    stream.isReady = true;
    engine.acquire(new Wanted("other", true));
    loop.settle();
    assertEquals(2, stream.commands().size());
  }

  @Test
  @DisplayName("close is a loss of all leases, releases them, ends all waits, and leaves no timer")
  void close() {
    Lease lease = acquire("report");
    List<LossCause> told = new ArrayList<>();
    lease.onLost(lost -> told.add(lost.lossCause()));
    var closed = engine.close(Duration.ofSeconds(5).toNanos());
    loop.settle();
    assertTrue(closed.isDone());
    assertEquals(List.of(LossCause.CLOSED), told);
    LeaseLostException lost = assertThrows(LeaseLostException.class, lease::check);
    assertEquals(NoticedBy.CLIENT, lost.noticedBy());
    assertTrue(server.latest().commands().get(1).hasRelease());
    assertTrue(server.latest().isHalfClosed);
    assertEquals(0, loop.timerCount());
    Intent late = intend("late");
    CompletionException error = assertThrows(CompletionException.class, late.answer::join);
    assertEquals(ClosedException.class, error.getCause().getClass());
  }

  @Test
  @DisplayName("close waits for work that has a lease, and not for work that has lost its lease")
  void closeBesideWork() {
    Wanted wanted = new Wanted("long", true);
    wanted.maxHold = Duration.ofSeconds(1);
    Intent intent = engine.acquire(wanted);
    loop.settle();
    Lease lost = intent.answer.join();
    Lease held = acquire("report");
    lost.held.begin(new BodyThread());
    held.held.begin(new BodyThread());
    loop.advance(Duration.ofSeconds(2));
    assertEquals(LossCause.MAX_HOLD, lost.held.lossCause());
    var closed = engine.close(Duration.ofSeconds(5).toNanos());
    loop.settle();
    assertFalse(closed.isDone());
    held.held.leave();
    loop.settle();
    assertTrue(closed.isDone());
    List<SessionCommand> releases = new ArrayList<>(server.latest().commands());
    releases.removeIf(command -> !command.hasRelease());
    assertEquals(1, releases.size());
    assertEquals("id-of-report", releases.get(0).getRelease().getLeaseId());
  }

  @Test
  @DisplayName("close ends after its time limit if no server answers")
  void closeWithoutAnswer() {
    Lease lease = acquire("report");
    silence();
    var closed = engine.close(Duration.ofSeconds(5).toNanos());
    loop.advance(Duration.ofSeconds(4));
    assertFalse(closed.isDone());
    loop.advance(Duration.ofSeconds(1));
    assertTrue(closed.isDone());
    assertFalse(lease.isValid());
    assertEquals(0, loop.timerCount());
  }

  @Test
  @DisplayName("the future of the loss completes with the loss, and never after a release")
  void futureOfTheLoss() {
    Lease lease = acquire("report");
    var lost = lease.lost();
    lease.lost().cancel(false); // the caller's own
    Lease released = acquire("other");
    var none = released.lost();
    released.releaseAsync();
    loop.settle();
    assertFalse(lost.isDone());
    server.latest().end(1, SessionEndCause.SESSION_END_CAUSE_REVOKED);
    loop.settle();
    assertEquals(LossCause.REVOKED, lost.join().lossCause());
    assertEquals(LossCause.REVOKED, lease.lost().getNow(null).lossCause());
    assertFalse(none.isDone());
  }

  private Intent intendUntil(CompletableFuture<?> stop) {
    Wanted wanted = new Wanted("report", true);
    wanted.stop = stop;
    Intent intent = engine.acquire(wanted);
    loop.settle();
    return intent;
  }

  @Test
  @DisplayName("a stop ends a wait, and the acquire is cancelled")
  void stoppedWait() {
    silence();
    CompletableFuture<Void> stop = new CompletableFuture<>();
    Intent intent = intendUntil(stop);
    assertFalse(intent.answer.isDone());
    stop.completeExceptionally(new IllegalStateException("SIGTERM"));
    loop.settle();
    assertThrows(CancellationException.class, intent.answer::join);
    List<SessionCommand> commands = server.latest().commands();
    assertTrue(commands.get(commands.size() - 1).hasCancel());
    assertTrue(intendUntil(stop).answer.isCancelled(), "the stop came before the wait");
  }

  @Test
  @DisplayName("a stop after the grant leaves the lease, and a stop keeps nothing of past waits")
  void stopAfterGrant() {
    CompletableFuture<Void> stop = new CompletableFuture<>();
    Lease lease = intendUntil(stop).answer.join();
    assertEquals(0, stop.getNumberOfDependents());
    stop.complete(null);
    loop.settle();
    assertTrue(lease.isValid());
  }
}
