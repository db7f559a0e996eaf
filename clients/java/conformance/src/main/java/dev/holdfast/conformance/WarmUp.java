package dev.holdfast.conformance;

import dev.holdfast.v1.GetServerInfoRequest;
import dev.holdfast.v1.ServerServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.concurrent.TimeUnit;

/**
 * Loads the classes of gRPC before the first case step, because that takes seconds on a busy
 * machine, and because the runtime opens a socket of its own with them.
 */
final class WarmUp {
  private WarmUp() {}

  static void run() {
    // Nothing listens on port 1.
    ManagedChannel channel =
        Grpc.newChannelBuilder("dns:///127.0.0.1:1", InsecureChannelCredentials.create()).build();
    try {
      ClientCalls.blockingUnaryCall(
          channel,
          ServerServiceGrpc.getGetServerInfoMethod(),
          CallOptions.DEFAULT,
          GetServerInfoRequest.getDefaultInstance());
    } catch (StatusRuntimeException e) {
      channel.shutdownNow();
    }
    try {
      channel.awaitTermination(1, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
