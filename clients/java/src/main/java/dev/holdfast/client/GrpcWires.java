package dev.holdfast.client;

import dev.holdfast.v1.OpenSessionRequest;
import dev.holdfast.v1.OpenSessionResponse;
import dev.holdfast.v1.SessionServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import org.jspecify.annotations.Nullable;

/** Streams over gRPC, each on a connection of its own. */
final class GrpcWires implements Wire.Opener {
  private final Channels channels;

  GrpcWires(Channels channels) {
    this.channels = channels;
  }

  @Override
  public Wire open(Server server, Opening opening, Loop loop, Wire.Listener listener) {
    ManagedChannel channel = channels.open(server, opening.credentials);
    return new GrpcWire(channel, opening.token, loop, listener);
  }

  private static final class GrpcWire extends ClientCall.Listener<OpenSessionResponse>
      implements Wire {
    private final ManagedChannel channel;
    private final ClientCall<OpenSessionRequest, OpenSessionResponse> call;
    private final Loop loop;
    private final Listener listener;

    GrpcWire(ManagedChannel channel, @Nullable Token token, Loop loop, Listener listener) {
      this.channel = channel;
      this.loop = loop;
      this.listener = listener;
      call = channel.newCall(SessionServiceGrpc.getOpenSessionMethod(), CallOptions.DEFAULT);
      call.start(this, Channels.metadata(token));
      call.request(1);
    }

    @Override
    public boolean isReady() {
      return call.isReady();
    }

    @Override
    public void send(OpenSessionRequest request) {
      call.sendMessage(request);
    }

    @Override
    public void halfClose() {
      call.halfClose();
    }

    @Override
    public void destroy() {
      call.cancel("the client leaves the session", null);
      channel.shutdownNow();
    }

    // The methods below are called by threads of gRPC.

    @Override
    public void onMessage(OpenSessionResponse response) {
      loop.execute(
          () -> {
            listener.response(response);
            // The next response is read after this one, so that few lie in memory.
            call.request(1);
          });
    }

    @Override
    public void onReady() {
      loop.execute(listener::ready);
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      loop.execute(() -> listener.ended(Errors.ofCall(status, trailers)));
    }
  }
}
