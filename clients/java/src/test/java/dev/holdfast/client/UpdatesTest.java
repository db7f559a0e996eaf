package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.holdfast.v1.CommandFailed;
import dev.holdfast.v1.LeaseUpdated;
import dev.holdfast.v1.SessionCommand;
import dev.holdfast.v1.SessionEndCause;
import dev.holdfast.v1.SessionEvent;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Updates of the metadata of one lease take turns, in synthetic time. */
@Timeout(60)
class UpdatesTest {
  /** A call of a user, on a thread of its own. */
  private static final class Call {
    private @Nullable Throwable error;
    private final Thread thread;

    Call(Runnable body) {
      thread =
          new Thread(
              () -> {
                try {
                  body.run();
                } catch (RuntimeException | Error e) {
                  error = e;
                }
              });
      thread.setDaemon(true);
      thread.start();
    }

    /** Waits until the call has given its command to the loop. */
    void awaitWait() throws InterruptedException {
      while (thread.getState() != Thread.State.WAITING) {
        assertTrue(thread.isAlive(), "the call has ended");
        Thread.sleep(1);
      }
    }

    @Nullable Throwable end() throws InterruptedException {
      thread.join();
      return error;
    }
  }

  private final FakeLoop loop = new FakeLoop();
  private final FakeServer server = new FakeServer();
  private final Engine engine = server.engine(loop, loop::execute, "a:1");
  private Lease lease;

  @BeforeEach
  void connect() {
    engine.start(Durations.NEVER);
    Wanted wanted = new Wanted("boss", true);
    wanted.leaderValue = "before";
    wanted.metadata = Map.of("job", "before");
    Intent intent = engine.acquire(wanted);
    loop.settle();
    lease = intent.answer.join();
  }

  private CompletableFuture<Void> update(String job) {
    CompletableFuture<Void> answer = engine.tasks.update(lease.held, shown -> Map.of("job", job));
    loop.settle();
    return answer;
  }

  private Call call(Runnable body) throws InterruptedException {
    Call call = new Call(body);
    call.awaitWait();
    loop.settle();
    return call;
  }

  /** The updates that the latest stream has. */
  private List<SessionCommand> sent() {
    List<SessionCommand> commands = new ArrayList<>(server.latest().commands());
    commands.removeIf(command -> !command.hasUpdate());
    return commands;
  }

  private List<Map<String, String>> sentMetadata() {
    List<Map<String, String>> all = new ArrayList<>();
    sent().forEach(command -> all.add(metadataOf(command)));
    return all;
  }

  private static Map<String, String> metadataOf(SessionCommand command) {
    return command.getUpdate().getMetadataUpdate().getEntriesMap();
  }

  private static List<Map<String, String>> jobs(String... jobs) {
    List<Map<String, String>> all = new ArrayList<>();
    for (String job : jobs) {
      all.add(Map.of("job", job));
    }
    return all;
  }

  /** The server answers an update that was sent. */
  private void answer(int index) {
    server
        .latest()
        .say(
            SessionEvent.newBuilder()
                .setCommandId(sent().get(index).getCommandId())
                .setUpdated(LeaseUpdated.getDefaultInstance()));
    loop.settle();
  }

  private static HoldfastException errorOf(CompletableFuture<?> answer) {
    assertTrue(answer.isDone(), "the command still waits for its answer");
    CompletionException error = assertThrows(CompletionException.class, answer::join);
    return (HoldfastException) error.getCause();
  }

  private void failAll(String reason) {
    server.failure =
        CommandFailed.newBuilder()
            .setCode(Status.Code.UNAVAILABLE.value())
            .setReasonText(reason)
            .build();
  }

  @Test
  @DisplayName("updates are sent in the order of their calls, one at a time")
  void order() {
    List<CompletableFuture<Void>> answers = new ArrayList<>();
    for (String job : List.of("first", "second", "third")) {
      answers.add(update(job));
    }
    assertEquals(jobs("first"), sentMetadata());
    answer(0);
    assertTrue(answers.get(0).isDone());
    assertEquals(jobs("first", "second"), sentMetadata());
    answer(1);
    assertEquals(jobs("first", "second", "third"), sentMetadata());
    answer(2);
    answers.forEach(answer -> assertTrue(answer.isDone()));
    assertEquals(Map.of("job", "third"), lease.held.shown);
  }

  @Test
  @DisplayName("the next session is sent the first update only")
  void nextSession() {
    update("first");
    CompletableFuture<Void> second = update("second");
    server.latest().breakOff();
    loop.advance(Duration.ofSeconds(2));
    assertEquals(2, server.streams.size());
    assertEquals(jobs("first"), sentMetadata());
    answer(0);
    answer(1);
    assertTrue(second.isDone());
    assertEquals(jobs("first", "second"), sentMetadata());
  }

  @Test
  @DisplayName("an update whose thread is interrupted makes room for the next one at once")
  void interrupted() throws InterruptedException {
    Call first = call(() -> lease.updateMetadata(Map.of("job", "first")));
    Call second = call(() -> lease.updateMetadata(Map.of("job", "second")));
    Call third = call(() -> lease.updateMetadata(Map.of("job", "third")));
    assertEquals(1, sent().size());
    second.thread.interrupt();
    assertEquals("INTERRUPTED", ((HoldfastException) second.end()).reason());
    loop.settle();
    assertEquals(1, sent().size(), "the first update has no answer yet");
    first.thread.interrupt();
    assertEquals("INTERRUPTED", ((HoldfastException) first.end()).reason());
    loop.settle();
    assertEquals("third", metadataOf(sent().get(1)).get("job"));
    answer(0);
    assertEquals("before", lease.held.shown.get("job"), "a late answer has no effect");
    answer(1);
    assertNull(third.end());
    assertEquals("third", lease.held.shown.get("job"));
    assertEquals(2, sent().size());
  }

  @Test
  @DisplayName("an update of the value and one of the metadata, started together, keep both")
  void valueAndMetadata() throws InterruptedException {
    Client client = new Client(Holdfast.builder("127.0.0.1:1"));
    try {
      Election election = new Election(client, "boss");
      Call value = call(() -> election.updateValue(lease, "after"));
      Call metadata = call(() -> lease.updateMetadata(Map.of("job", "after")));
      assertEquals(List.of(Map.of("job", "before", "value", "after")), sentMetadata());
      answer(0);
      assertEquals(Map.of("job", "after", "value", "after"), metadataOf(sent().get(1)));
      answer(1);
      assertNull(value.end());
      assertNull(metadata.end());
    } finally {
      client.close(0);
    }
  }

  @Test
  @DisplayName("the time limit of an update includes the wait for its turn")
  void limit() {
    CompletableFuture<Void> first = update("first");
    loop.advance(Duration.ofSeconds(4));
    CompletableFuture<Void> second = update("second");
    loop.advance(Duration.ofMillis(5900));
    assertFalse(first.isDone());
    loop.advance(Duration.ofMillis(200));
    assertEquals("NO_ANSWER", errorOf(first).reason());
    assertEquals(jobs("first", "second"), sentMetadata());
    loop.advance(Duration.ofMillis(3800));
    assertFalse(second.isDone());
    loop.advance(Duration.ofMillis(200));
    assertEquals("NO_ANSWER", errorOf(second).reason());
  }

  @Test
  @DisplayName("the end of the lease fails all updates with the loss, and sends none of them")
  void loss() {
    List<CompletableFuture<Void>> answers = List.of(update("first"), update("second"));
    server.latest().end(1, SessionEndCause.SESSION_END_CAUSE_REVOKED);
    loop.settle();
    for (CompletableFuture<Void> answer : answers) {
      assertEquals(LossCause.REVOKED, ((LeaseLostException) errorOf(answer)).lossCause());
    }
    assertEquals(jobs("first"), sentMetadata());
  }

  @Test
  @DisplayName("an update that fails until its time limit has the reason of the last attempt")
  void lastError() {
    failAll("STORE_UNAVAILABLE");
    CompletableFuture<Void> answer = update("first");
    loop.advance(Duration.ofMillis(9900));
    assertFalse(answer.isDone());
    loop.advance(Duration.ofMillis(200));
    assertTrue(sent().size() > 1, "the update was not repeated");
    assertEquals("STORE_UNAVAILABLE", errorOf(answer).reason());
  }

  @Test
  @DisplayName("a release that fails until its time limit has the reason of the last attempt")
  void lastErrorOfRelease() {
    failAll("STORE_UNAVAILABLE");
    CompletableFuture<Boolean> answer = lease.releaseAsync();
    loop.advance(Duration.ofSeconds(5));
    assertFalse(answer.isDone());
    assertEquals("STORE_UNAVAILABLE", lease.held.noReleaseAnswer().reason(), "the caller waits 5 s");
    loop.advance(Duration.ofSeconds(56));
    assertEquals("STORE_UNAVAILABLE", errorOf(answer).reason());
  }
}
