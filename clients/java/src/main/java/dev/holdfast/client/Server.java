package dev.holdfast.client;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One address of a server. */
final class Server {
  /** The "host:port" of the caller. A certificate must be valid for it. */
  final String given;

  /** The "ip:port" to connect to. Null: gRPC looks the host up. */
  final @Nullable String address;

  Server(String given, @Nullable String address) {
    this.given = given;
    this.address = address;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Server
        && given.equals(((Server) other).given)
        && Objects.equals(address, ((Server) other).address);
  }

  @Override
  public int hashCode() {
    return Objects.hash(given, address);
  }

  @Override
  public String toString() {
    return address == null ? given : given + " at " + address;
  }
}
