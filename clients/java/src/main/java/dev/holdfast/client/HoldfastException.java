package dev.holdfast.client;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The base of all exceptions of this package. Decide by the class or by {@link #reason}, never by
 * the text. No text has a lease id or a token.
 */
public class HoldfastException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ErrorFacts facts;

  HoldfastException(String message, ErrorFacts facts, @Nullable Throwable cause) {
    super(message, cause);
    this.facts = facts;
  }

  /**
   * An ErrorReason without its prefix, see docs/errors.md. Empty: the error comes from the gRPC
   * library, and {@link #code} says more.
   */
  public final String reason() {
    return facts.reason;
  }

  /** The number of the gRPC status code. */
  public final int code() {
    return facts.code;
  }

  /** The facts that error_reason.proto lists for the reason, for example {@code holder_id}. */
  public final Map<String, String> metadata() {
    return facts.metadata;
  }

  /** The delay before a retry. Empty: the server advises no retry. */
  public final Optional<Duration> retryAfter() {
    return Optional.ofNullable(facts.retryAfter);
  }

  /** All invalid fields of the request. */
  public final List<FieldViolation> violations() {
    return facts.violations;
  }

  final ErrorFacts facts() {
    return facts;
  }

  final long retryAfterNanos() {
    return facts.retryAfter == null ? 0 : Durations.nanos(facts.retryAfter);
  }

  final int number(String key) {
    try {
      return Integer.parseInt(metadata().getOrDefault(key, "0"));
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
