package dev.holdfast.client;

import dev.holdfast.v1.AutocompleteServiceGrpc;
import dev.holdfast.v1.SuggestError;
import dev.holdfast.v1.SuggestRequest;
import dev.holdfast.v1.SuggestStreamRequest;
import dev.holdfast.v1.SuggestStreamResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Suggestions for an input field. One stream answers all keystrokes, and a newer query supersedes
 * the older ones. Thread-safe.
 */
public final class TypeAhead implements AutoCloseable {
  private static final class Query {
    final CompletableFuture<Optional<List<Suggestion>>> answer = new CompletableFuture<>();
    final String text;
    final long id;
    final long typedAt;

    Query(String text, long id, long typedAt) {
      this.text = text;
      this.id = id;
      this.typedAt = typedAt;
    }
  }

  private final Client client;
  private final SuggestRequest request;
  private final long debounceNanos;

  /** Opens streams, sends and reads, one after the other. */
  private final SerialExecutor serial;

  // Guarded by this object.
  private @Nullable Query latest;
  private long lastId;
  private Loop.@Nullable Timer timer;
  private boolean isClosed;

  // Only in the serial executor.
  private @Nullable Stream stream;
  private int failures;

  TypeAhead(Client client, SuggestRequest request, long debounceNanos) {
    this.client = client;
    this.request = request;
    this.debounceNanos = debounceNanos;
    this.serial = new SerialExecutor(client.callbacks);
  }

  /**
   * The suggestions for the text of the input field. Empty if a newer query has superseded this
   * query: show nothing then. The future fails with a HoldfastException.
   */
  public CompletableFuture<Optional<List<Suggestion>>> type(String text) {
    Query query;
    Query older;
    synchronized (this) {
      if (isClosed || client.calls.isClosed()) {
        return CompletableFuture.failedFuture(new ClosedException());
      }
      older = latest;
      lastId++;
      query = new Query(text, lastId, System.nanoTime());
      latest = query;
      sendAfter(debounceNanos);
    }
    if (older != null) {
      older.answer.complete(Optional.empty());
    }
    return query.answer;
  }

  /** Ends the stream. A query without an answer fails with a ClosedException. */
  @Override
  public void close() {
    synchronized (this) {
      if (isClosed) {
        return;
      }
      isClosed = true;
      if (timer != null) {
        timer.cancel();
      }
    }
    fail(new ClosedException());
    serially(
        () -> {
          if (stream != null) {
            stream.call.cancel("the input field is closed", null);
          }
        });
  }

  private synchronized void sendAfter(long nanos) {
    if (timer != null) {
      timer.cancel();
    }
    timer = client.loop.schedule(nanos, () -> serially(this::send));
  }

  private void serially(Runnable task) {
    try {
      serial.execute(task);
    } catch (RejectedExecutionException e) {
      fail(new ClosedException(e));
    }
  }

  private void send() {
    Query query;
    synchronized (this) {
      query = latest;
      if (isClosed || query == null) {
        return;
      }
    }
    try {
      if (stream == null) {
        stream = new Stream();
      }
    } catch (HoldfastException e) {
      fail(e);
      return;
    }
    stream.call.sendMessage(
        SuggestStreamRequest.newBuilder()
            .setQueryId(query.id)
            .setSuggest(request.toBuilder().setQuery(query.text))
            .build());
  }

  private void read(SuggestStreamResponse response) {
    Query query;
    synchronized (this) {
      query = latest;
      boolean isKnown = response.hasSuggestions() || response.hasError();
      if (query == null || query.id != response.getQueryId() || !isKnown) {
        return;
      }
      latest = null;
    }
    failures = 0;
    if (response.hasError()) {
      query.answer.completeExceptionally(errorOf(response.getError()));
    } else {
      List<dev.holdfast.v1.Suggestion> found = response.getSuggestions().getSuggestionsList();
      query.answer.complete(Optional.of(Suggestion.listOf(found)));
    }
  }

  /** The next stream gets the latest query, if somebody still waits for the answer. */
  private void broken(Stream ended, HoldfastException error) {
    if (stream == ended) {
      stream = null;
    }
    boolean isUnavailable = CallChannel.isUnavailable(error);
    if (isUnavailable) {
      client.calls.leave(ended.channel);
    }
    Query query;
    synchronized (this) {
      query = latest;
      if (isClosed || query == null) {
        return;
      }
    }
    if (client.calls.isClosed()) {
      fail(new ClosedException());
      return;
    }
    failures++;
    long pause = Pauses.beforeRepeat(failures, error.retryAfterNanos());
    long waited = System.nanoTime() - query.typedAt;
    if (isUnavailable && waited + pause < Durations.millis(Numbers.Limits.CALL_MS)) {
      sendAfter(pause);
    } else {
      fail(error);
    }
  }

  private void fail(HoldfastException error) {
    Query query;
    synchronized (this) {
      query = latest;
      latest = null;
    }
    if (query != null) {
      query.answer.completeExceptionally(error);
    }
  }

  private static HoldfastException errorOf(SuggestError error) {
    String reason = error.getReason().name().replace("ERROR_REASON_", "");
    return Errors.of(error.getMessage(), new ErrorFacts(reason, error.getCode()), null);
  }

  private final class Stream extends ClientCall.Listener<SuggestStreamResponse> {
    final ManagedChannel channel;
    final ClientCall<SuggestStreamRequest, SuggestStreamResponse> call;

    Stream() {
      Metadata metadata = client.calls.metadata();
      channel = client.calls.current();
      call = channel.newCall(AutocompleteServiceGrpc.getSuggestStreamMethod(), CallOptions.DEFAULT);
      call.start(this, metadata);
      call.request(1);
    }

    @Override
    public void onMessage(SuggestStreamResponse response) {
      serially(
          () -> {
            read(response);
            call.request(1);
          });
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      serially(() -> broken(this, Errors.ofCall(status, trailers)));
    }
  }
}
