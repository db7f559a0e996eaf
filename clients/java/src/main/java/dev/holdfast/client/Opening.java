package dev.holdfast.client;

import io.grpc.ChannelCredentials;
import org.jspecify.annotations.Nullable;

/** What the next connection needs: a token, the certificates and the server, all found anew. */
final class Opening {
  final @Nullable Token token;
  final ChannelCredentials credentials;
  final Servers.Turn turn;

  Opening(@Nullable Token token, ChannelCredentials credentials, Servers.Turn turn) {
    this.turn = turn;
    this.token = token;
    this.credentials = credentials;
  }
}
