package dev.holdfast.client;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Opens connections. Thread-safe. */
final class Channels {
  static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final @Nullable Tls tls;
  private final Set<ManagedChannel> open = new HashSet<>();

  /**
   * @param tls null: without TLS
   */
  Channels(@Nullable Tls tls) {
    this.tls = tls;
  }

  /** Reads the certificates. */
  ChannelCredentials credentials() throws IOException {
    return tls == null ? InsecureChannelCredentials.create() : tls.credentials();
  }

  /** A connection of calls. A watch that hears nothing finds a dead connection by its pings. */
  ManagedChannel openForCalls(Server server, ChannelCredentials credentials) {
    return open(
        builder(server, credentials)
            .keepAliveTime(Numbers.Calls.KEEPALIVE_MS, TimeUnit.MILLISECONDS)
            .keepAliveTimeout(Numbers.Calls.KEEPALIVE_TIMEOUT_MS, TimeUnit.MILLISECONDS));
  }

  /**
   * A connection that shares nothing with others, so that calls cannot delay the heartbeats of a
   * session.
   */
  ManagedChannel open(Server server, ChannelCredentials credentials) {
    return open(builder(server, credentials));
  }

  private ManagedChannelBuilder<?> builder(Server server, ChannelCredentials credentials) {
    ManagedChannelBuilder<?> builder =
        secured(server, credentials)
            // The callbacks only pass messages on.
            .directExecutor()
            // The client repeats commands and calls itself.
            .disableRetry();
    String serverName = tls == null ? null : tls.serverName();
    if (serverName != null) {
      builder.overrideAuthority(serverName);
    } else if (server.address != null) {
      builder.overrideAuthority(server.given);
    }
    return builder;
  }

  /** gRPC parses the key here, and its error names no file. */
  private ManagedChannelBuilder<?> secured(Server server, ChannelCredentials credentials) {
    try {
      String target = server.address == null ? server.given : server.address;
      return Grpc.newChannelBuilder("dns:///" + target, credentials);
    } catch (IllegalArgumentException e) {
      String keyName = tls == null ? null : tls.keyName();
      throw keyName == null ? e : Pem.unusableKey(keyName, e);
    }
  }

  private synchronized ManagedChannel open(ManagedChannelBuilder<?> builder) {
    open.removeIf(ManagedChannel::isTerminated);
    ManagedChannel channel = builder.build();
    open.add(channel);
    return channel;
  }

  /** The metadata of a stream or a call. */
  static Metadata metadata(@Nullable Token token) {
    Metadata metadata = new Metadata();
    if (token != null) {
      metadata.put(AUTHORIZATION, "Bearer " + token.value());
    }
    return metadata;
  }

  /** Closes all connections, and waits until their sockets are closed. */
  void close(long limitNanos) {
    Set<ManagedChannel> rest;
    synchronized (this) {
      rest = new HashSet<>(open);
    }
    rest.forEach(ManagedChannel::shutdownNow);
    long until = System.nanoTime() + limitNanos;
    boolean isInterrupted = false;
    for (ManagedChannel channel : rest) {
      try {
        channel.awaitTermination(until - System.nanoTime(), TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        isInterrupted = true;
      }
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
