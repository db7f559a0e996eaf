package dev.holdfast.client;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A bearer token. */
public final class Token {
  private final String value;
  private final @Nullable Duration expiresIn;

  private Token(String value, @Nullable Duration expiresIn) {
    // A file often ends with a line break, which no header may have.
    this.value = value.strip();
    this.expiresIn = expiresIn;
  }

  /** A token without a known end. */
  public static Token of(String value) {
    return new Token(value, null);
  }

  /**
   * A token that ends. The client opens its next session with a new token before this time has
   * passed, and 1 s after the session before at the earliest.
   */
  public static Token of(String value, Duration expiresIn) {
    return new Token(value, expiresIn);
  }

  /** The token itself: a secret. */
  public String value() {
    return value;
  }

  /** The rest of the token's life when it was fetched. Empty: unknown. */
  public Optional<Duration> expiresIn() {
    return Optional.ofNullable(expiresIn);
  }

  /** Shows no secret. */
  @Override
  public String toString() {
    return "Token[expiresIn=" + expiresIn + "]";
  }
}
