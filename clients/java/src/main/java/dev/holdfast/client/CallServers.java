package dev.holdfast.client;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.io.IOException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The connection of the calls to one of several servers. Thread-safe. */
final class CallServers {
  private final Servers servers;
  private final Channels channels;
  private @Nullable ManagedChannel channel;

  /** The start of the first call since the last answer of the current server. */
  private @Nullable Long silentSince;

  CallServers(Servers servers, Channels channels) {
    this.servers = servers;
    this.channels = channels;
  }

  /** The channel to the current server. Waits for the lookup of a new one. */
  ManagedChannel current() throws InterruptedException {
    ManagedChannel open = opened(null);
    return open == null ? Objects.requireNonNull(opened(servers.next().server)) : open;
  }

  /** The open channel, or else a new one to the server. */
  private synchronized @Nullable ManagedChannel opened(@Nullable Server server) {
    if (channel == null && server != null) {
      try {
        channel = channels.openForCalls(server, channels.credentials());
      } catch (IOException | IllegalArgumentException e) {
        int code = Status.Code.UNAUTHENTICATED.value();
        String text = "the connection has no certificate: " + e.getMessage();
        throw Errors.of(text, new ErrorFacts("NO_CREDENTIAL", code), e);
      }
    }
    return channel;
  }

  /** Takes note of a question to the server. */
  synchronized void asked(ManagedChannel used) {
    if (used == channel && silentSince == null) {
      silentSince = System.nanoTime();
    }
  }

  /** Takes note of an answer of the server. */
  synchronized void answered(ManagedChannel used) {
    if (used == channel) {
      silentSince = null;
    }
  }

  /**
   * Takes note of a failed call or stream. Later calls leave a broken connection, unless other
   * calls have left it already.
   */
  synchronized void failed(ManagedChannel used, HoldfastException error) {
    if (used != channel) {
      return;
    }
    if (Repetition.isLate(error)) {
      // The caller's own short time limit says little about the server.
      if (silentSince == null || System.nanoTime() - silentSince < Repetition.SILENCE) {
        return;
      }
    }
    silentSince = null;
    if (Repetition.isBroken(error)) {
      channel = null;
      used.shutdown();
    }
  }
}
