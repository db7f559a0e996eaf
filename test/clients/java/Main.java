import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.holdfast.v1.AcquireLockRequest;
import dev.holdfast.v1.AcquirePermitsRequest;
import dev.holdfast.v1.Lease;
import dev.holdfast.v1.LockServiceGrpc;
import dev.holdfast.v1.ReleaseLockRequest;
import dev.holdfast.v1.ReleasePermitsRequest;
import dev.holdfast.v1.SemaphoreServiceGrpc;
import dev.holdfast.v1.SetSemaphoreLimitRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Reads Holdfast's errors with the usual helpers of a Java program. See ../clients.slow.test.ts. */
public final class Main {
  private static final Metadata.Key<String> REASON =
      Metadata.Key.of("holdfast-reason", Metadata.ASCII_STRING_MARSHALLER);

  private Main() {}

  public static void main(String[] args) throws Exception {
    if (args[0].equals("frozen")) {
      Frozen.main(args[1], args[2], args[3], args[4]);
      return;
    }
    ManagedChannel channel =
        Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create()).build();
    try {
      run(LockServiceGrpc.newBlockingStub(channel).withDeadlineAfter(20, TimeUnit.SECONDS), args[1]);
      semaphoreRound(
          SemaphoreServiceGrpc.newBlockingStub(channel).withDeadlineAfter(20, TimeUnit.SECONDS), args[1]);
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  private static void run(LockServiceGrpc.LockServiceBlockingStub client, String name)
      throws InvalidProtocolBufferException {
    Lease lease =
        client
            .acquireLock(
                AcquireLockRequest.newBuilder()
                    .setName(name)
                    .setTtl(Duration.newBuilder().setSeconds(30))
                    .setHolderId("alice")
                    .putMetadata("language", "java")
                    .build())
            .getLease();
    boolean asAsked = lease.getTtl().getSeconds() == 30;
    System.out.println("granted: " + lease.getName() + " " + asAsked + " " + (lease.getFencingToken() > 0));

    AcquireLockRequest busy =
        AcquireLockRequest.newBuilder()
            .setName(name)
            .setWaitTimeout(Duration.getDefaultInstance())
            .build();
    printError(() -> client.acquireLock(busy));
    AcquireLockRequest bad =
        AcquireLockRequest.newBuilder()
            .setTtl(Duration.newBuilder().setSeconds(-1))
            .setRequestId("1")
            .build();
    printError(() -> client.acquireLock(bad));

    ReleaseLockRequest release = ReleaseLockRequest.newBuilder().setLeaseId(lease.getLeaseId()).build();
    System.out.println("released: " + client.releaseLock(release).getReleased());
  }

  private static void semaphoreRound(
      SemaphoreServiceGrpc.SemaphoreServiceBlockingStub client, String name)
      throws InvalidProtocolBufferException {
    AcquirePermitsRequest unknown = AcquirePermitsRequest.newBuilder().setName(name).build();
    printError(() -> client.acquirePermits(unknown));

    AcquirePermitsRequest request = unknown.toBuilder().setPermitCount(2).setInitialLimit(3).build();
    Lease lease = client.acquirePermits(request).getLease();
    System.out.println("permits: " + lease.getName() + " " + lease.getPermitCount());

    printError(() -> client.acquirePermits(unknown.toBuilder().setPermitCount(5).build()));

    SetSemaphoreLimitRequest change =
        SetSemaphoreLimitRequest.newBuilder().setName(name).setLimit(0).setExpectedLimit(4).build();
    printError(() -> client.setSemaphoreLimit(change));

    ReleasePermitsRequest release =
        ReleasePermitsRequest.newBuilder().setLeaseId(lease.getLeaseId()).build();
    System.out.println("released: " + client.releasePermits(release).getReleased());
  }

  private static void printError(Runnable call) throws InvalidProtocolBufferException {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      System.out.println("code: " + error.getStatus().getCode());
      System.out.println("message: " + error.getStatus().getDescription());
      System.out.println("trailer: " + error.getTrailers().get(REASON));
      for (Any detail : StatusProto.fromThrowable(error).getDetailsList()) {
        printDetail(detail);
      }
    }
  }

  private static void printDetail(Any detail) throws InvalidProtocolBufferException {
    if (detail.is(ErrorInfo.class)) {
      ErrorInfo info = detail.unpack(ErrorInfo.class);
      System.out.println("reason: " + info.getReason() + " " + info.getDomain());
      for (Map.Entry<String, String> entry : info.getMetadataMap().entrySet()) {
        System.out.println("metadata: " + entry.getKey() + "=" + entry.getValue());
      }
    } else if (detail.is(RetryInfo.class)) {
      Duration delay = detail.unpack(RetryInfo.class).getRetryDelay();
      System.out.println("retry: " + (delay.getSeconds() * 1000 + delay.getNanos() / 1_000_000));
    } else if (detail.is(BadRequest.class)) {
      for (BadRequest.FieldViolation violation : detail.unpack(BadRequest.class).getFieldViolationsList()) {
        System.out.println("violation: " + violation.getField() + " " + violation.getDescription());
      }
    } else {
      System.out.println("unknown detail: " + detail);
    }
  }
}
