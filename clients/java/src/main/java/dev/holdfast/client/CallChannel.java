package dev.holdfast.client;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
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

  private final List<String> addresses;
  private final Channels channels;
  private final Tokens tokens;
  private final Tracing tracing;
  private final CountDownLatch closed = new CountDownLatch(1);
  private @Nullable ManagedChannel channel;
  private int index;

  CallChannel(List<String> addresses, Channels channels, Tokens tokens, Tracing tracing) {
    this.addresses = addresses;
    this.channels = channels;
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
    int credentialFailures = 0;
    for (int attempts = 1; ; attempts++) {
      ManagedChannel used = current();
      HoldfastException error;
      try {
        return once(used, method, request, until - System.nanoTime());
      } catch (CallFailed e) {
        error = e.error;
      }
      throwIfClosed();
      boolean isCredential =
          Numbers.Reasons.CREDENTIAL_IS_FETCHED_ONCE_MORE.contains(error.reason());
      if (isCredential) {
        credentialFailures++;
      }
      if (isCredential ? credentialFailures > 1 : !isRepeated(error, isIdempotent)) {
        throw error;
      }
      if (isUnavailable(error)) {
        leave(used);
      }
      long pause = isCredential ? 0 : Pauses.beforeRepeat(attempts, error.retryAfterNanos());
      if (System.nanoTime() + pause - until >= 0) {
        throw error;
      }
      pause(pause);
    }
  }

  private <Q, R> R once(ManagedChannel used, MethodDescriptor<Q, R> method, Q request, long limit)
      throws CallFailed {
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(Math.max(0, limit), TimeUnit.NANOSECONDS);
    Metadata metadata = metadata(limit);
    ClientCall<Q, R> call = used.newCall(method, options);
    Answer<R> answer = new Answer<>();
    call.start(answer, metadata);
    call.request(2);
    call.sendMessage(request);
    call.halfClose();
    try {
      return answer.future.get();
    } catch (InterruptedException e) {
      call.cancel("the caller was interrupted", null);
      Thread.currentThread().interrupt();
      throw Errors.interrupted(e);
    } catch (ExecutionException e) {
      throw new CallFailed((HoldfastException) e.getCause());
    }
  }

  /** The metadata of a stream. Waits at most 10 s for a token. */
  Metadata metadata() {
    return metadata(LIMIT);
  }

  private Metadata metadata(long limit) {
    try {
      return Channels.metadata(tokens.fetch(limit));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Errors.interrupted(e);
    }
  }

  /** The channel to the current server. */
  synchronized ManagedChannel current() {
    throwIfClosed();
    if (channel == null) {
      try {
        channel = channels.open(addresses.get(index % addresses.size()), channels.credentials());
      } catch (java.io.IOException e) {
        throw noCredential("the connection has no certificate: " + e.getMessage(), e);
      }
    }
    return channel;
  }

  private static HoldfastException noCredential(String text, Throwable cause) {
    int code = Status.Code.UNAUTHENTICATED.value();
    return Errors.of(text, new ErrorFacts("NO_CREDENTIAL", code), cause);
  }

  /**
   * Later calls go to the next server. Without effect if other calls have left the server before.
   */
  synchronized void leave(ManagedChannel left) {
    if (left == channel) {
      index = (index + 1) % addresses.size();
      channel = null;
      left.shutdown();
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

  static boolean isUnavailable(HoldfastException error) {
    return error.code() == Status.Code.UNAVAILABLE.value();
  }

  private static boolean isRepeated(HoldfastException error, boolean isIdempotent) {
    String reason = error.reason();
    if (Numbers.Reasons.CALL_IS_REPEATED.contains(reason)) {
      return true;
    }
    // The empty reason belongs to a broken connection.
    boolean isUnsure =
        reason.isEmpty() || Numbers.Reasons.IDEMPOTENT_CALL_IS_REPEATED.contains(reason);
    return isIdempotent && isUnsure && isUnavailable(error);
  }

  /** An attempt has failed. */
  private static final class CallFailed extends Exception {
    private static final long serialVersionUID = 1L;

    final HoldfastException error;

    CallFailed(HoldfastException error) {
      super(null, null, false, false);
      this.error = error;
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
