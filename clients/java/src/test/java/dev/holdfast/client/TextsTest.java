package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Texts that would break every session, and so end the renewals of all leases. */
class TextsTest {
  private static final String HUGE = "x".repeat(Numbers.Session.MAX_MESSAGE_BYTES);
  private static final String HALF_A_PAIR = "\ud83d";

  @Test
  @DisplayName("a name, a label or metadata that no message can have is refused at once")
  void refused() {
    HoldfastBuilder builder = Holdfast.builder("127.0.0.1:1");
    for (String wrong : List.of(HUGE, HALF_A_PAIR)) {
      assertThrows(IllegalArgumentException.class, () -> new Wanted(wrong, true));
      assertThrows(IllegalArgumentException.class, () -> builder.holderId(wrong));
      assertThrows(IllegalArgumentException.class, () -> builder.metadata(Map.of("job", wrong)));
      assertThrows(IllegalArgumentException.class, () -> builder.metadata(Map.of(wrong, "job")));
      assertThrows(IllegalArgumentException.class, () -> Entry.of("1", wrong));
      assertThrows(IllegalArgumentException.class, () -> Entry.of("1", "a").aliases(wrong));
      assertThrows(IllegalArgumentException.class, () -> Recent.of(wrong));
    }
  }

  @Test
  @DisplayName("null is refused by the call itself, and not by a task of the client")
  void nothing() {
    assertThrows(NullPointerException.class, () -> new Wanted(null, true));
    assertThrows(NullPointerException.class, () -> Holdfast.builder("127.0.0.1:1").holderId(null));
  }

  @Test
  @DisplayName("names of all languages are allowed")
  void allowed() {
    assertEquals("Zürich 東京 😀", new Wanted("Zürich 東京 😀", true).name);
  }

  @Test
  @DisplayName("metadata that no message can have fails its update, and a later update goes on")
  void update() {
    FakeLoop loop = new FakeLoop();
    FakeServer server = new FakeServer();
    Engine engine = server.engine(loop, loop::execute, "a:1");
    engine.start(Durations.NEVER);
    Intent intent = engine.acquire(new Wanted("report", true));
    loop.settle();
    Lease lease = intent.answer.join();
    CompletableFuture<Void> wrong = engine.tasks.update(lease.held, shown -> Map.of("job", HUGE));
    engine.tasks.update(lease.held, shown -> Map.of("job", "nightly"));
    loop.settle();
    CompletionException failed = assertThrows(CompletionException.class, wrong::join);
    assertTrue(failed.getCause() instanceof IllegalArgumentException);
    List<dev.holdfast.v1.SessionCommand> sent = server.latest().commands();
    Map<String, String> entries =
        sent.get(sent.size() - 1).getUpdate().getMetadataUpdate().getEntriesMap();
    assertEquals(Map.of("job", "nightly"), entries);
  }
}
