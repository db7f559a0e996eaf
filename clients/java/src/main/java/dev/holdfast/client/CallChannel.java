package dev.holdfast.client;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The calls outside of the session, on a connection of their own, to one of several servers.
 * Thread-safe.
 */
final class CallChannel {
  private static final long LIMIT = Durations.millis(Numbers.Limits.CALL_MS);
  private static final long TOKEN_LIMIT = Durations.millis(Numbers.Limits.TOKEN_MS);

  final CallServers servers;
  private final Tokens tokens;
  private final Tracing tracing;
  private final CountDownLatch closed = new CountDownLatch(1);

  /** What ends with the client: open watches and type-aheads. */
  final Set<Runnable> onClose = ConcurrentHashMap.newKeySet();

  CallChannel(Servers servers, Channels channels, Tokens tokens, Tracing tracing) {
    this.servers = new CallServers(servers, channels);
    this.tokens = tokens;
    this.tracing = tracing;
  }

  /** A call that does no harm when it is carried out twice. */
  <Q, R> R unary(MethodDescriptor<Q, R> method, Q request) {
    return unary(method, request, LIMIT, true);
  }

  /** A call that is repeated only if the server has not carried it out. */
  <Q, R> R unaryOnce(MethodDescriptor<Q, R> method, Q request) {
    return unary(method, request, LIMIT, false);
  }

  /** Repeats the call at the next server where a repetition helps, within the time limit. */
  <Q, R> R unary(MethodDescriptor<Q, R> method, Q request, long limit, boolean isIdempotent) {
    Tracing.Span span = tracing.start(method.getFullMethodName(), Map.of("rpc.system", "grpc"));
    try {
      return repeat(method, request, limit, isIdempotent);
    } catch (RuntimeException e) {
      span.fail(e);
      throw e;
    } finally {
      span.end();
    }
  }

  private <Q, R> R repeat(
      MethodDescriptor<Q, R> method, Q request, long limit, boolean isIdempotent) {
    long until = System.nanoTime() + limit;
    Repetition repetition = new Repetition(isIdempotent);
    while (true) {
      CallFailed failed;
      try {
        Metadata metadata = prepare(until - System.nanoTime());
        long left = Repetition.attemptNanos(until - System.nanoTime(), isIdempotent);
        return once(current(), method, request, metadata, left);
      } catch (CallFailed e) {
        failed = e;
      }
      throwIfClosed();
      OptionalLong pause = repetition.pauseAfter(failed.error, failed.wasSent);
      if (pause.isEmpty() || System.nanoTime() + pause.getAsLong() - until >= 0) {
        throw failed.error;
      }
      pause(pause.getAsLong());
    }
  }

  private Metadata prepare(long limit) throws CallFailed {
    try {
      Metadata metadata = metadata(limit);
      current();
      return metadata;
    } catch (CredentialException e) {
      throw new CallFailed(e, false);
    }
  }

  private <Q, R> R once(
      ManagedChannel used, MethodDescriptor<Q, R> method, Q request, Metadata metadata, long limit)
      throws CallFailed {
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(Math.max(0, limit), TimeUnit.NANOSECONDS);
    ClientCall<Q, R> call = used.newCall(method, options);
    Answer<R> answer = new Answer<>();
    servers.asked(used);
    call.start(answer, metadata);
    call.request(2);
    call.sendMessage(request);
    call.halfClose();
    try {
      R response = answer.future.get();
      servers.answered(used);
      return response;
    } catch (InterruptedException e) {
      call.cancel("the caller was interrupted", null);
      Thread.currentThread().interrupt();
      throw Errors.interrupted(e);
    } catch (ExecutionException e) {
      HoldfastException error = (HoldfastException) e.getCause();
      servers.failed(used, error);
      throw new CallFailed(error, true);
    }
  }

  /** The metadata of a stream. Waits at most 10 s for a token. */
  Metadata metadata() {
    return metadata(TOKEN_LIMIT);
  }

  private Metadata metadata(long limit) {
    try {
      return Channels.metadata(tokens.fetch(Math.min(limit, TOKEN_LIMIT)));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Errors.interrupted(e);
    }
  }

  /** The channel to the current server. */
  ManagedChannel current() {
    throwIfClosed();
    try {
      return servers.current();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Errors.interrupted(e);
    }
  }

  boolean isClosed() {
    return closed.getCount() == 0;
  }

  void throwIfClosed() {
    if (isClosed()) {
      throw new ClosedException();
    }
  }

  /** Later calls fail. The owner of the channels ends those that run. */
  void close() {
    closed.countDown();
    onClose.forEach(Runnable::run);
    onClose.clear();
  }

  private void pause(long nanos) {
    try {
      if (closed.await(nanos, TimeUnit.NANOSECONDS)) {
        throw new ClosedException();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Errors.interrupted(e);
    }
  }

  /** An attempt has failed. */
  private static final class CallFailed extends Exception {
    private static final long serialVersionUID = 1L;

    final HoldfastException error;

    /** False: the attempt has failed before it reached the network. */
    final boolean wasSent;

    CallFailed(HoldfastException error, boolean wasSent) {
      super(null, null, false, false);
      this.error = error;
      this.wasSent = wasSent;
    }
  }

  /** The answer to one attempt. */
  static final class Answer<R> extends ClientCall.Listener<R> {
    final CompletableFuture<R> future = new CompletableFuture<>();
    private volatile @Nullable R message;

    @Override
    public void onMessage(R received) {
      message = received;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      R received = message;
      if (status.isOk() && received != null) {
        future.complete(received);
      } else {
        future.completeExceptionally(Errors.ofCall(status, trailers));
      }
    }
  }
}
