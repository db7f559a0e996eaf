package dev.holdfast.client;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Texts of callers, logs and exceptions. */
final class Texts {
  private Texts() {}

  /**
   * The text, if a message can have it. Protobuf would replace half of a surrogate pair by "?", so
   * two names would be one.
   *
   * @throws IllegalArgumentException for a text that has no form in UTF-8
   */
  static String sendable(String text, String option) {
    // An encoder has a state, so each call has its own.
    if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
      throw new IllegalArgumentException(
          option + " must not have half of a surrogate pair, as " + quoted(text) + " has");
    }
    return text;
  }

  /** A copy of the entries, as {@link #sendable(String, String)}. */
  static Map<String, String> sendable(Map<String, String> metadata) {
    Map<String, String> copy = Map.copyOf(metadata);
    copy.forEach(
        (key, value) -> {
          sendable(key, "metadata");
          sendable(value, "metadata");
        });
    return copy;
  }

  /** A name in quotes, without control characters that could forge lines of a log. */
  static String quoted(String name) {
    StringBuilder text = new StringBuilder("\"");
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (Character.isISOControl(c) || c == '"' || c == '\\') {
        text.append(String.format("\\u%04x", (int) c));
      } else {
        text.append(c);
      }
    }
    return text.append('"').toString();
  }
}
