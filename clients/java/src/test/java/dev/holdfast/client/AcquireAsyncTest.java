package dev.holdfast.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The future of an acquire belongs to the caller. A wait that does not end ends by the timeout. */
@Timeout(60)
class AcquireAsyncTest {
  private final Client client = new Client(Holdfast.builder("127.0.0.1:1"));

  @AfterEach
  void close() {
    client.close(0);
  }

  private void expectNoWaitAfter(Consumer<CompletableFuture<Lease>> end) throws Exception {
    CompletableFuture<Lease> future =
        new LockRequest(client, new Wanted("report", true)).acquireAsync();
    end.accept(future);
    // The client may hear of the end later than the owner of the future.
    while (isWaiting()) {
      Thread.sleep(5);
    }
  }

  private boolean isWaiting() throws Exception {
    CompletableFuture<Boolean> isEmpty = new CompletableFuture<>();
    client.loop.execute(() -> isEmpty.complete(client.engine.tasks.acquires.isEmpty()));
    return !isEmpty.get();
  }

  @Test
  @DisplayName("a future that its owner completes ends the wait")
  void completed() throws Exception {
    expectNoWaitAfter(future -> future.complete(null));
  }

  @Test
  @DisplayName("a future that completes by a timeout ends the wait")
  void completedOnTimeout() throws Exception {
    expectNoWaitAfter(future -> future.completeOnTimeout(null, 1, TimeUnit.MILLISECONDS).join());
  }

  @Test
  @DisplayName("a future that is cancelled ends the wait")
  void cancelled() throws Exception {
    expectNoWaitAfter(future -> future.cancel(true));
  }
}
