package dev.holdfast.client;

import io.grpc.ChannelCredentials;
import org.jspecify.annotations.Nullable;

/** What the next connection needs: a token and the certificates, both read anew. */
final class Opening {
  final @Nullable Token token;
  final ChannelCredentials credentials;

  Opening(@Nullable Token token, ChannelCredentials credentials) {
    this.token = token;
    this.credentials = credentials;
  }
}
