package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.InsecureChannelCredentials;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The token source of the user. */
@Timeout(60)
class TokensTest {
  private static final long LONG = TimeUnit.SECONDS.toNanos(30);
  private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(50);

  private final ExecutorService callbacks = Executors.newCachedThreadPool();
  private final CountDownLatch end = new CountDownLatch(1);

  @AfterEach
  void close() throws InterruptedException {
    end.countDown();
    callbacks.shutdown();
    assertTrue(callbacks.awaitTermination(30, TimeUnit.SECONDS));
  }

  private Token hang() {
    while (true) {
      try {
        end.await();
        return Token.of("late");
      } catch (InterruptedException e) {
        // The source ignores its interrupt.
      }
    }
  }

  @Test
  @DisplayName("a source that ignores its interrupt is left after the limit")
  void hangingSource() {
    Tokens tokens = new Tokens(this::hang, callbacks);
    CredentialException error = assertThrows(CredentialException.class, () -> tokens.fetch(SHORT));
    assertEquals("NO_CREDENTIAL", error.reason());
    assertTrue(error.getMessage().contains("has not answered in time"), error.getMessage());
  }

  @Test
  @DisplayName("a source that hangs is called at most 100 times at once")
  void boundedCalls() throws InterruptedException {
    CountDownLatch asked = new CountDownLatch(100);
    TokenSource source =
        () -> {
          asked.countDown();
          return hang();
        };
    Tokens tokens = new Tokens(source, callbacks);
    for (int i = 0; i < 100; i++) {
      callbacks.submit(() -> tokens.fetch(LONG));
    }
    asked.await();
    CredentialException error = assertThrows(CredentialException.class, () -> tokens.fetch(SHORT));
    assertTrue(error.getMessage().contains("earlier calls"), error.getMessage());
  }

  @Test
  @DisplayName(
      "an error of the source is the cause of the exception, and the next call may succeed")
  void failingSource() throws InterruptedException {
    Error[] failure = {new StackOverflowError("no key")};
    Tokens tokens =
        new Tokens(
            () -> {
              if (failure[0] != null) {
                throw failure[0];
              }
              return Token.of("fresh\n");
            },
            callbacks);
    CredentialException error = assertThrows(CredentialException.class, () -> tokens.fetch(LONG));
    assertEquals(failure[0], error.getCause());
    failure[0] = null;
    assertEquals("fresh", tokens.fetch(LONG).value());
  }

  @Test
  @DisplayName("without a source there is no token")
  void noSource() throws InterruptedException {
    assertNull(new Tokens(null, callbacks).fetch(LONG));
  }

  @Test
  @DisplayName("a token that has ended already opens one session a second")
  void endedToken() throws InterruptedException {
    FakeLoop loop = new FakeLoop();
    FakeServer server = new FakeServer();
    Token ended = Token.of("old", Duration.ZERO);
    Servers servers = FakeServer.servers("a:1");
    Opening opening = new Opening(ended, InsecureChannelCredentials.create(), servers.next());
    Engine engine =
        new Engine(servers, "", Map.of(), () -> opening, server, loop, loop::execute);
    engine.start(Durations.NEVER);
    loop.advance(Duration.ofMillis(3500));
    assertEquals(4, server.streams.size());
  }
}
