import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.holdfast.v1.AcquireLockRequest;
import dev.holdfast.v1.Lease;
import dev.holdfast.v1.LockServiceGrpc;
import dev.holdfast.v1.ReleaseLockRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Reads Holdfast's errors with the helpers that a Java program has anyway. See ../clients.test.ts. */
public final class Main {
  private static final Metadata.Key<String> REASON =
      Metadata.Key.of("holdfast-reason", Metadata.ASCII_STRING_MARSHALLER);

  private Main() {}

  public static void main(String[] args) throws Exception {
    ManagedChannel channel =
        Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create()).build();
    try {
      run(LockServiceGrpc.newBlockingStub(channel).withDeadlineAfter(20, TimeUnit.SECONDS), args[1]);
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

    printError(
        client,
        AcquireLockRequest.newBuilder()
            .setName(name)
            .setWaitTimeout(Duration.getDefaultInstance())
            .build());
    printError(
        client,
        AcquireLockRequest.newBuilder()
            .setTtl(Duration.newBuilder().setSeconds(-1))
            .setRequestId("1")
            .build());

    ReleaseLockRequest release = ReleaseLockRequest.newBuilder().setLeaseId(lease.getLeaseId()).build();
    System.out.println("released: " + client.releaseLock(release).getReleased());
  }

  private static void printError(LockServiceGrpc.LockServiceBlockingStub client, AcquireLockRequest request)
      throws InvalidProtocolBufferException {
    try {
      client.acquireLock(request);
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
