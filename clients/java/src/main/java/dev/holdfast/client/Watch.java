package dev.holdfast.client;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A server stream that is opened again after a break. The next message is read after the consumer
 * has ended.
 */
final class Watch<Q, R> implements Observation {
  private final Client client;
  private final MethodDescriptor<Q, R> method;
  private final Q request;
  private final Consumer<R> consumer;
  private final SerialExecutor serial;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private int failures;
  private volatile @Nullable ClientCall<Q, R> call;

  Watch(Client client, MethodDescriptor<Q, R> method, Q request, Consumer<R> consumer) {
    this.client = client;
    this.method = method;
    this.request = request;
    this.consumer = consumer;
    this.serial = new SerialExecutor(client.callbacks);
  }

  Watch<Q, R> start() {
    client.calls.throwIfClosed();
    serial.execute(this::open);
    return this;
  }

  @Override
  public CompletableFuture<Void> ended() {
    return ended;
  }

  @Override
  public void close() {
    ended.complete(null);
    ClientCall<Q, R> open = call;
    if (open != null) {
      open.cancel("the caller has ended the watch", null);
    }
  }

  private void open() {
    if (ended.isDone()) {
      return;
    }
    try {
      ManagedChannel channel = client.calls.current();
      Metadata metadata = client.calls.metadata();
      ClientCall<Q, R> opened = channel.newCall(method, CallOptions.DEFAULT);
      opened.start(new Reader(channel, opened), metadata);
      call = opened;
      opened.request(1);
      opened.sendMessage(request);
      opened.halfClose();
      if (ended.isDone()) {
        close();
      }
    } catch (HoldfastException e) {
      fail(e);
    }
  }

  private void broken(ManagedChannel channel, HoldfastException error) {
    if (ended.isDone()) {
      return;
    }
    if (client.calls.isClosed()) {
      fail(new ClosedException());
    } else if (!CallChannel.isUnavailable(error)) {
      fail(error);
    } else {
      client.calls.leave(channel);
      failures++;
      client.loop.schedule(
          Pauses.beforeRepeat(failures, error.retryAfterNanos()), () -> serially(this::open));
    }
  }

  private void fail(HoldfastException error) {
    ended.completeExceptionally(error);
  }

  private void serially(Runnable task) {
    try {
      serial.execute(task);
    } catch (RejectedExecutionException e) {
      fail(new ClosedException(e));
    }
  }

  private final class Reader extends ClientCall.Listener<R> {
    private final ManagedChannel channel;
    private final ClientCall<Q, R> own;

    Reader(ManagedChannel channel, ClientCall<Q, R> own) {
      this.channel = channel;
      this.own = own;
    }

    @Override
    public void onMessage(R message) {
      serially(() -> read(message));
    }

    private void read(R message) {
      if (ended.isDone()) {
        return;
      }
      failures = 0;
      try {
        consumer.accept(message);
        own.request(1);
      } catch (RuntimeException | Error e) {
        ended.completeExceptionally(e);
        own.cancel("the listener has failed", e);
      }
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      serially(() -> broken(channel, Errors.ofCall(status, trailers)));
    }
  }
}
