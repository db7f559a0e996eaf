package dev.holdfast.client;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A server stream that is opened again after a break. The next message is read after the consumer
 * has ended.
 */
final class Watch<Q, R> implements Observation {
  private static final long FIRST_MESSAGE = Durations.millis(Numbers.Session.FIRST_ANSWER_MS);

  private final Client client;
  private final MethodDescriptor<Q, R> method;
  private final Q request;
  private final Consumer<R> consumer;
  private final SerialExecutor serial;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private final Repetition repetition = new Repetition(true);
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
    Runnable onClose = () -> fail(new ClosedException());
    client.calls.onClose.add(onClose);
    ended.whenComplete((value, error) -> client.calls.onClose.remove(onClose));
    serially(this::open);
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
      Metadata metadata = client.calls.metadata();
      ManagedChannel channel = client.calls.current();
      ClientCall<Q, R> opened = channel.newCall(method, CallOptions.DEFAULT);
      Reader reader = new Reader(channel, opened);
      reader.silence = client.loop.schedule(FIRST_MESSAGE, reader::leave);
      opened.start(reader, metadata);
      call = opened;
      opened.request(1);
      opened.sendMessage(request);
      opened.halfClose();
      if (ended.isDone()) {
        close();
      }
    } catch (CredentialException e) {
      broken(e, false);
    } catch (RuntimeException e) {
      ended.completeExceptionally(e);
    }
  }

  private void broken(HoldfastException error, boolean wasSent) {
    if (ended.isDone()) {
      return;
    }
    if (client.calls.isClosed()) {
      fail(new ClosedException());
      return;
    }
    OptionalLong pause = repetition.pauseAfter(error, wasSent);
    if (pause.isEmpty()) {
      fail(error);
    } else {
      client.loop.schedule(pause.getAsLong(), () -> serially(this::open));
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
    private volatile boolean isSilent;
    private volatile Loop.@Nullable Timer silence;

    Reader(ManagedChannel channel, ClientCall<Q, R> own) {
      this.channel = channel;
      this.own = own;
    }

    @Override
    public void onMessage(R message) {
      stopTimer();
      serially(() -> read(message));
    }

    private void read(R message) {
      if (ended.isDone()) {
        return;
      }
      repetition.answered();
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
      stopTimer();
      HoldfastException error =
          isSilent
              ? Errors.ofCall(Status.UNAVAILABLE.withDescription("a watch has heard nothing"), null)
              : Errors.ofCall(status, trailers);
      serially(
          () -> {
            client.calls.servers.failed(channel, error);
            broken(error, true);
          });
    }

    /** A new connection may lead nowhere. */
    void leave() {
      isSilent = true;
      own.cancel("the first message has not come in time", null);
    }

    private void stopTimer() {
      Loop.Timer timer = silence;
      if (timer != null) {
        timer.cancel();
      }
    }
  }
}
