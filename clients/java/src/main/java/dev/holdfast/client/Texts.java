package dev.holdfast.client;

/** Texts of logs and exceptions. */
final class Texts {
  private Texts() {}

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
