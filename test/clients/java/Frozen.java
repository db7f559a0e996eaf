import com.google.protobuf.Duration;
import dev.holdfast.v1.AcquireLockRequest;
import dev.holdfast.v1.HoldLockRequest;
import dev.holdfast.v1.LockServiceGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Prints how calls end after their link has frozen. See ../frozen-link.slow.test.ts. */
final class Frozen {
  private static final Metadata.Key<String> REASON =
      Metadata.Key.of("holdfast-reason", Metadata.ASCII_STRING_MARSHALLER);

  private Frozen() {}

  static void main(String target, String name, String holderId, String waiterId) throws Exception {
    ManagedChannel channel = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create()).build();
    try {
      LockServiceGrpc.LockServiceBlockingStub client =
          LockServiceGrpc.newBlockingStub(channel).withDeadlineAfter(60, TimeUnit.SECONDS);
      Thread holder = hold("holder", client, name, holderId);
      Thread waiter = hold("waiter", client, name, waiterId);
      AcquireLockRequest request =
          AcquireLockRequest.newBuilder()
              .setName(name)
              .setWaitTimeout(Duration.newBuilder().setSeconds(50))
              .build();
      Thread unary = run("unary", () -> client.acquireLock(request));
      for (Thread call : new Thread[] {holder, waiter, unary}) call.join();
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  private static Thread hold(
      String label, LockServiceGrpc.LockServiceBlockingStub client, String name, String requestId)
      throws InterruptedException {
    AcquireLockRequest acquire =
        AcquireLockRequest.newBuilder()
            .setName(name)
            .setRequestId(requestId)
            .setTtl(Duration.newBuilder().setSeconds(30))
            .build();
    CountDownLatch opened = new CountDownLatch(1);
    Thread call =
        run(
            label,
            () ->
                client
                    .holdLock(HoldLockRequest.newBuilder().setAcquire(acquire).build())
                    .forEachRemaining(event -> opened.countDown()));
    opened.await(60, TimeUnit.SECONDS);
    return call;
  }

  private static Thread run(String label, Runnable call) {
    Thread thread =
        new Thread(
            () -> {
              try {
                call.run();
              } catch (StatusRuntimeException error) {
                printEnd(label, error);
              }
            });
    thread.start();
    return thread;
  }

  private static void printEnd(String label, StatusRuntimeException error) {
    String reason = error.getTrailers() == null ? null : error.getTrailers().get(REASON);
    String text =
        label + ": " + error.getStatus().getCode() + " " + (reason == null ? "none" : reason);
    System.out.println(text + " | " + error.getStatus().getDescription());
  }
}
