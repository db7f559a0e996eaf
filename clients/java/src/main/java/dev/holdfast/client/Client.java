package dev.holdfast.client;

import java.net.InetAddress;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** The parts of one client. */
final class Client {
  /** The longest wait for the token of a session. */
  private static final long FETCH_LIMIT = Durations.millis(Numbers.Limits.TOKEN_MS);

  final ThreadLoop loop = new ThreadLoop();

  /** Runs the code of the user. Has no thread while there is nothing to run. */
  final ThreadPoolExecutor callbacks = makeCallbacks();

  final Channels channels;
  final CallChannel calls;
  final SemaphoreLimits limits;
  final Engine engine;
  final Tracing tracing;

  /** The metadata of each lease without metadata of its own. */
  final Map<String, String> metadata;

  Client(HoldfastBuilder options) {
    Tokens tokens = new Tokens(options.token, callbacks);
    channels = new Channels(options.tls);
    metadata = options.metadata;
    tracing = new QuietTracing(options.tracing);
    calls = new CallChannel(servers(options), channels, tokens, tracing);
    limits = new SemaphoreLimits(calls, callbacks);
    Servers servers = servers(options);
    engine =
        new Engine(
            servers,
            options.holderId,
            options.metadata,
            () -> new Opening(tokens.fetch(FETCH_LIMIT), channels.credentials(), servers.next()),
            new GrpcWires(channels),
            loop,
            callbacks);
  }

  private Servers servers(HoldfastBuilder options) {
    return new Servers(options.addresses, InetAddress::getAllByName, callbacks);
  }

  /** Waits for the first answer of a server. */
  void connect(long limitNanos) {
    engine.start(limitNanos);
    try {
      engine.ready.get(limitNanos, TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      HoldfastException last = engine.whyNotStarted();
      throw last instanceof UnavailableException
          ? Errors.noAnswer("no server answered in time", last)
          : last;
    } catch (ExecutionException e) {
      throw Await.unwrapped(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Errors.interrupted(e);
    }
  }

  void close() {
    close(Durations.millis(Numbers.Limits.CLOSE_MS));
  }

  /** Closes at most once. */
  void close(long limitNanos) {
    CompletableFuture<Void> ended = engine.close(limitNanos);
    long late = Durations.plus(limitNanos, Durations.millis(2000));
    try {
      Await.uninterruptibly(ended, late, () -> Errors.noAnswer("the client does not end", null));
    } finally {
      calls.close();
      loop.end();
      channels.close(Durations.millis(1000));
      callbacks.shutdown();
    }
  }

  private static ThreadPoolExecutor makeCallbacks() {
    AtomicInteger count = new AtomicInteger();
    return new ThreadPoolExecutor(
        0,
        Integer.MAX_VALUE,
        1,
        TimeUnit.SECONDS,
        new SynchronousQueue<>(),
        work -> {
          Thread thread = new Thread(work, "holdfast-callback-" + count.incrementAndGet());
          thread.setDaemon(true);
          return thread;
        });
  }
}
