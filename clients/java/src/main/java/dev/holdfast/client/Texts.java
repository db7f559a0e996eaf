package dev.holdfast.client;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;

/** Texts of callers, logs and exceptions. */
final class Texts {
  /**
   * The server allows far less, and says so. A message beyond the server's bound would end the
   * session of all leases.
   */
  private static final int MAX_LENGTH = Numbers.Session.MAX_TEXT_LENGTH;

  private Texts() {}

  /**
   * A text of a caller that a message can have.
   *
   * @throws IllegalArgumentException if it is too long for every message, or no Unicode
   */
  static String checked(String text, String option) {
    Objects.requireNonNull(text, option);
    checkLength(text.length(), option);
    // Another text would arrive, for example the name of another lock.
    if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
      throw new IllegalArgumentException(option + " has half of a surrogate pair");
    }
    return text;
  }

  /** A copy of metadata of a caller that a message can have, as {@link #checked} says. */
  static Map<String, String> checkedMetadata(Map<String, String> metadata) {
    Map<String, String> given = Map.copyOf(metadata);
    long length = 0;
    for (Map.Entry<String, String> entry : given.entrySet()) {
      checked(entry.getKey(), "a key of metadata");
      checked(entry.getValue(), "a value of metadata");
      length += entry.getKey().length() + entry.getValue().length();
    }
    checkLength(length, "metadata");
    return given;
  }

  private static void checkLength(long length, String option) {
    if (length > MAX_LENGTH) {
      throw new IllegalArgumentException(
          option + " has " + length + " characters; a message has at most " + MAX_LENGTH);
    }
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
