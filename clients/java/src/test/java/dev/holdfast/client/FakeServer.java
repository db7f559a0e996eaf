package dev.holdfast.client;

import com.google.protobuf.Duration;
import dev.holdfast.v1.CommandFailed;
import dev.holdfast.v1.LeaseEnded;
import dev.holdfast.v1.LeaseGranted;
import dev.holdfast.v1.LeaseReleased;
import dev.holdfast.v1.LeaseRenewal;
import dev.holdfast.v1.OpenSessionRequest;
import dev.holdfast.v1.OpenSessionResponse;
import dev.holdfast.v1.SessionCommand;
import dev.holdfast.v1.SessionEndCause;
import dev.holdfast.v1.SessionEvent;
import dev.holdfast.v1.SessionStarted;
import io.grpc.InsecureChannelCredentials;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Streams that answer as the test says. */
final class FakeServer implements Wire.Opener {
  final List<Stream> streams = new ArrayList<>();

  /** Whether new streams answer by themselves: starts, heartbeats, grants, releases. */
  boolean isAnswering = true;

  /** The answer of answering streams to each update and each release. Null: releases succeed. */
  @Nullable CommandFailed failure;

  /** The engine of a client that calls this server. */
  Engine engine(Loop loop, Executor callbacks, String... addresses) {
    Servers servers = servers(addresses);
    Callable<Opening> prepare =
        () -> new Opening(null, InsecureChannelCredentials.create(), servers.next());
    return new Engine(servers, "", Map.of(), prepare, this, loop, callbacks);
  }

  /** Servers without a lookup. */
  static Servers servers(String... addresses) {
    return new Servers(List.of(addresses), host -> new InetAddress[0], Runnable::run);
  }

  @Override
  public Wire open(Server to, Opening opening, Loop loop, Wire.Listener listener) {
    Stream stream = new Stream(to.given, loop, listener);
    streams.add(stream);
    return stream;
  }

  Stream latest() {
    return streams.get(streams.size() - 1);
  }

  /** One stream. */
  final class Stream implements Wire {
    final String address;
    final List<OpenSessionRequest> received = new ArrayList<>();
    boolean isReady = true;
    boolean isHalfClosed;
    boolean isDestroyed;
    private final Loop loop;
    private final Listener listener;
    private long heartbeatId;

    Stream(String address, Loop loop, Listener listener) {
      this.address = address;
      this.loop = loop;
      this.listener = listener;
    }

    @Override
    public boolean isReady() {
      return isReady;
    }

    @Override
    public void send(OpenSessionRequest request) {
      received.add(request);
      heartbeatId = Math.max(heartbeatId, request.getHeartbeatId());
      if (isAnswering) {
        loop.execute(() -> answer(request));
      }
    }

    @Override
    public void halfClose() {
      isHalfClosed = true;
      if (isAnswering) {
        loop.execute(() -> listener.ended(Errors.ofCall(io.grpc.Status.OK, null)));
      }
    }

    @Override
    public void destroy() {
      isDestroyed = true;
    }

    List<SessionCommand> commands() {
      List<SessionCommand> commands = new ArrayList<>();
      received.forEach(request -> commands.addAll(request.getCommandsList()));
      return commands;
    }

    long heartbeatCount() {
      return received.stream().filter(request -> request.getHeartbeatId() > 0).count();
    }

    OpenSessionResponse.Builder response() {
      return OpenSessionResponse.newBuilder().setHeartbeatId(heartbeatId);
    }

    void say(OpenSessionResponse.Builder response) {
      if (!isDestroyed) {
        listener.response(response.build());
      }
    }

    void say(SessionEvent.Builder event) {
      say(response().addEvents(event));
    }

    void breakOff() {
      fail(io.grpc.Status.UNAVAILABLE);
    }

    void fail(io.grpc.Status status) {
      listener.ended(Errors.ofCall(status, null));
    }

    void renew(long leaseNumber, long seconds) {
      say(
          response()
              .addRenewals(
                  LeaseRenewal.newBuilder()
                      .setLeaseNumber(leaseNumber)
                      .setExpireOffset(seconds(seconds))));
    }

    void end(long leaseNumber, SessionEndCause cause) {
      say(
          SessionEvent.newBuilder()
              .setCommandId(leaseNumber)
              .setEnded(LeaseEnded.newBuilder().setCause(cause)));
    }

    private void answer(OpenSessionRequest request) {
      OpenSessionResponse.Builder response = response();
      if (request.hasStart()) {
        response.setStarted(SessionStarted.newBuilder().setHeartbeatTimeout(seconds(15)));
        response.setHeartbeatInterval(seconds(5));
      }
      for (SessionCommand command : request.getCommandsList()) {
        SessionEvent.Builder event = SessionEvent.newBuilder().setCommandId(command.getCommandId());
        if (command.hasAcquireLock()) {
          String name = command.getAcquireLock().getName();
          response.addEvents(event.setGranted(granted(name, "id-of-" + name)));
        } else if (command.hasAttach()) {
          String id = command.getAttach().getLeaseId();
          response.addEvents(event.setGranted(granted(id.replace("id-of-", ""), id)));
        } else if (failure != null && (command.hasUpdate() || command.hasRelease())) {
          response.addEvents(event.setFailed(failure));
        } else if (command.hasRelease()) {
          response.addEvents(event.setReleased(LeaseReleased.newBuilder().setReleased(true)));
        }
      }
      say(response);
    }
  }

  static LeaseGranted.Builder granted(String name, String id) {
    return LeaseGranted.newBuilder()
        .setLease(
            dev.holdfast.v1.Lease.newBuilder()
                .setLeaseId(id)
                .setName(name)
                .setFencingToken(7)
                .setPermitCount(1)
                .setTtl(seconds(30))
                .setExpireOffset(seconds(30)));
  }

  static Duration seconds(long seconds) {
    return Duration.newBuilder().setSeconds(seconds).build();
  }
}
