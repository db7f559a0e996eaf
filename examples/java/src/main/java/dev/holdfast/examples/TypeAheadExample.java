package dev.holdfast.examples;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.joining;

import dev.holdfast.client.Dictionary;
import dev.holdfast.client.Entry;
import dev.holdfast.client.Holdfast;
import dev.holdfast.client.SuggestOptions;
import dev.holdfast.client.Suggestion;
import dev.holdfast.client.TypeAhead;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * Shows suggestions for each line of stdin: the text of an input field after one more key. With a
 * file it imports the dictionary first.
 */
public final class TypeAheadExample {
  private static final PrintStream OUT =
      new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8);

  private TypeAheadExample() {}

  public static void main(String[] args) {
    Arguments given = new Arguments(args, "servers", "import", "debounce-ms");
    Program.run(
        () -> {
          try (Holdfast hf = Holdfast.connect(given.servers())) {
            Dictionary dictionary = hf.dictionary(given.name());
            if (given.has("import")) {
              importLines(dictionary, Path.of(given.text("import", "")));
            }
            SuggestOptions options = SuggestOptions.DEFAULTS.limit(5);
            try (TypeAhead field = dictionary.typeAhead(options, given.millis("debounce-ms", 30))) {
              complete(field, new BufferedReader(new InputStreamReader(System.in, UTF_8)));
            }
            return 0;
          }
        });
  }

  /** Replaces all entries by the lines of a file, which is never in memory as a whole. */
  private static void importLines(Dictionary dictionary, Path file) throws IOException {
    AtomicLong count = new AtomicLong();
    try (Stream<String> lines = Files.lines(file, UTF_8)) {
      Iterator<Entry> entries =
          lines
              .filter(line -> !line.isBlank())
              .map(line -> Entry.of(line, line))
              .peek(entry -> count.incrementAndGet())
              .iterator();
      dictionary.importAll(entries);
    }
    OUT.println("imported " + count + " entries");
  }

  private static void complete(TypeAhead field, BufferedReader lines) throws IOException {
    CompletableFuture<Void> shown = CompletableFuture.completedFuture(null);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String text = line;
      CompletableFuture<Void> next = // empty: a newer query has superseded this query
          field.type(text).thenAccept(answer -> answer.ifPresent(found -> show(text, found)));
      shown = CompletableFuture.allOf(shown, next);
      if (shown.isCompletedExceptionally()) {
        break;
      }
    }
    shown.join();
  }

  private static void show(String text, List<Suggestion> found) {
    String texts = found.stream().map(Suggestion::text).collect(joining(", "));
    OUT.println(text + ": " + (found.isEmpty() ? "nothing" : texts));
  }
}
