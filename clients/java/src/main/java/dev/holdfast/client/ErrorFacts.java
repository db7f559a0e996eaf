package dev.holdfast.client;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What an error says, apart from its text. */
final class ErrorFacts implements java.io.Serializable {
  private static final long serialVersionUID = 1L;

  final String reason;
  final int code;
  final Map<String, String> metadata;
  final @Nullable Duration retryAfter;
  final List<FieldViolation> violations;

  ErrorFacts(String reason, int code) {
    this(reason, code, Map.of(), null, List.of());
  }

  ErrorFacts(
      String reason,
      int code,
      Map<String, String> metadata,
      @Nullable Duration retryAfter,
      List<FieldViolation> violations) {
    this.reason = reason;
    this.code = code;
    this.metadata = Map.copyOf(metadata);
    this.retryAfter = retryAfter;
    this.violations = List.copyOf(violations);
  }
}
