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
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
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

    /** The time until which the answer is wanted. */
    final long until;

    Query(String text, long id, long until) {
      this.text = text;
      this.id = id;
      this.until = until;
    }
  }

  private static final long LIMIT = Durations.millis(Numbers.Limits.CALL_MS);

  private final Client client;
  private final SuggestRequest request;
  private final long debounceNanos;

  /** Opens streams, sends and reads, one after the other. */
  private final SerialExecutor serial;

  // Guarded by this object.
  private @Nullable Query latest;
  private long lastId;
  private Loop.@Nullable Timer sendTimer;
  private Loop.@Nullable Timer answerTimer;
  private boolean isClosed;

  // Only in the serial executor.
  private final Repetition repetition = new Repetition(true);
  private @Nullable Stream stream;

  private final Runnable onClose = this::close;

  TypeAhead(Client client, SuggestRequest request, long debounceNanos) {
    this.client = client;
    this.request = request;
    this.debounceNanos = debounceNanos;
    this.serial = new SerialExecutor(client.callbacks);
    client.calls.onClose.add(onClose);
  }

  /**
   * The suggestions for the text of the input field. Empty if a newer query has superseded this
   * query: show nothing then. The future fails with a HoldfastException, after 10 s at the latest.
   */
  public CompletableFuture<Optional<List<Suggestion>>> type(String text) {
    Objects.requireNonNull(text, "text");
    Query query;
    Query older;
    synchronized (this) {
      if (isClosed || client.calls.isClosed()) {
        return CompletableFuture.failedFuture(new ClosedException());
      }
      older = latest;
      lastId++;
      query = new Query(text, lastId, System.nanoTime() + LIMIT);
      latest = query;
      expectAnswer(query, LIMIT);
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
      cancel(sendTimer);
      cancel(answerTimer);
    }
    client.calls.onClose.remove(onClose);
    fail(new ClosedException());
    serially(
        () -> {
          if (stream != null) {
            stream.call.cancel("the input field is closed", null);
          }
        });
  }

  private synchronized void sendAfter(long nanos) {
    cancel(sendTimer);
    sendTimer = client.loop.schedule(nanos, () -> serially(this::send));
  }

  private synchronized void expectAnswer(Query query, long nanos) {
    cancel(answerTimer);
    answerTimer = client.loop.schedule(nanos, () -> serially(() -> late(query)));
  }

  private static void cancel(Loop.@Nullable Timer timer) {
    if (timer != null) {
      timer.cancel();
    }
  }

  private void serially(Runnable task) {
    try {
      serial.execute(task);
    } catch (RejectedExecutionException e) {
      fail(new ClosedException(e));
    }
  }

  /** The latest query. Null: nobody waits for an answer. */
  private synchronized @Nullable Query wanted() {
    return isClosed ? null : latest;
  }

  private void send() {
    Query query = wanted();
    if (query == null) {
      return;
    }
    try {
      if (stream == null) {
        stream = new Stream();
      }
    } catch (CredentialException e) {
      repeat(e, false);
      return;
    } catch (HoldfastException e) {
      fail(e);
      return;
    }
    client.calls.servers.asked(stream.channel);
    stream.call.sendMessage(
        SuggestStreamRequest.newBuilder()
            .setQueryId(query.id)
            .setSuggest(request.toBuilder().setQuery(query.text))
            .build());
    expectAnswer(query, Repetition.attemptNanos(query.until - System.nanoTime(), true));
  }

  private void read(Stream from, SuggestStreamResponse response) {
    client.calls.servers.answered(from.channel);
    Query query = wanted();
    boolean isKnown = response.hasSuggestions() || response.hasError();
    if (query == null || query.id != response.getQueryId() || !isKnown) {
      return;
    }
    if (response.hasError()) {
      repeat(errorOf(response.getError()), true);
      return;
    }
    repetition.answered();
    List<dev.holdfast.v1.Suggestion> found = response.getSuggestions().getSuggestionsList();
    if (take(query)) {
      query.answer.complete(Optional.of(Suggestion.listOf(found)));
    }
  }

  private synchronized boolean take(Query query) {
    if (latest != query) {
      return false;
    }
    latest = null;
    cancel(answerTimer);
    return true;
  }

  private void broken(Stream ended, HoldfastException error) {
    // The type-ahead itself leaves a silent stream.
    if (stream == ended) {
      stream = null;
      client.calls.servers.failed(ended.channel, error);
      repeat(error, true);
    }
  }

  /** Leaves a silent stream, and tries the next one if there is time. */
  private void late(Query query) {
    if (wanted() != query) {
      return;
    }
    HoldfastException error = Repetition.late("the server has not answered the query in time");
    Stream silent = stream;
    if (silent != null) {
      stream = null;
      client.calls.servers.failed(silent.channel, error);
      silent.call.cancel("the server is silent", null);
    }
    repeat(error, true);
  }

  /**
   * Sends the latest query again after a pause, if somebody still waits for the answer and a
   * repetition helps.
   */
  private void repeat(HoldfastException error, boolean wasSent) {
    Query query = wanted();
    if (query == null) {
      return;
    }
    if (client.calls.isClosed()) {
      fail(new ClosedException());
      return;
    }
    OptionalLong pause = repetition.pauseAfter(error, wasSent);
    long left = query.until - System.nanoTime();
    if (pause.isEmpty() || pause.getAsLong() >= left) {
      repetition.answered();
      fail(error);
      return;
    }
    expectAnswer(query, left);
    sendAfter(pause.getAsLong());
  }

  private void fail(HoldfastException error) {
    Query query;
    synchronized (this) {
      query = latest;
      latest = null;
      cancel(answerTimer);
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
            read(this, response);
            call.request(1);
          });
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      serially(() -> broken(this, Errors.ofCall(status, trailers)));
    }
  }
}
