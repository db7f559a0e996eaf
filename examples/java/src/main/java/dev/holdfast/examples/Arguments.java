package dev.holdfast.examples;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The command line of a program: a name, and then pairs of an option and its value. */
final class Arguments {
  /** The options with a text. The values of all others are numbers. */
  private static final Set<String> TEXTS = Set.of("servers", "holder", "ledger", "value", "import");

  private final String name;
  private final Map<String, String> values = new HashMap<>();

  /** Ends the program with exit code 2 if the command line does not fit the options. */
  Arguments(String[] args, String... options) {
    if (args.length % 2 == 0 || args[0].startsWith("--")) {
      throw endWithUsage(options);
    }
    name = args[0];
    for (int i = 1; i < args.length; i += 2) {
      String option = args[i].startsWith("--") ? args[i].substring(2) : "";
      String value = args[i + 1];
      boolean isValid = TEXTS.contains(option) || value.matches("\\d{1,9}");
      if (!List.of(options).contains(option) || !isValid) {
        throw endWithUsage(options);
      }
      values.put(option, value);
    }
  }

  String name() {
    return name;
  }

  /** The addresses of the servers of one store, with commas. */
  String servers() {
    return text("servers", "127.0.0.1:50051");
  }

  /** The name of this process that others see. */
  String holder(String kind) {
    return text("holder", kind + "-" + ProcessHandle.current().pid());
  }

  boolean has(String option) {
    return values.containsKey(option);
  }

  String text(String option, String fallback) {
    return values.getOrDefault(option, fallback);
  }

  int number(String option, int fallback) {
    return Integer.parseInt(text(option, Integer.toString(fallback)));
  }

  Duration millis(String option, int fallback) {
    return Duration.ofMillis(number(option, fallback));
  }

  private static IllegalArgumentException endWithUsage(String[] options) {
    System.err.println("usage: NAME [--option VALUE]..., options: " + String.join(", ", options));
    System.exit(2);
    return new IllegalArgumentException();
  }
}
