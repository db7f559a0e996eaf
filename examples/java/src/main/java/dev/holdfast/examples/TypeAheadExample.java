package dev.holdfast.examples;

import static java.util.stream.Collectors.joining;

import dev.holdfast.client.Dictionary;
import dev.holdfast.client.Entry;
import dev.holdfast.client.Holdfast;
import dev.holdfast.client.SuggestOptions;
import dev.holdfast.client.Suggestion;
import dev.holdfast.client.TypeAhead;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * Shows suggestions for each line of stdin: the text of an input field after one more key. With a
 * file it imports the dictionary first.
 */
public final class TypeAheadExample {
  private TypeAheadExample() {}

  public static void main(String[] args) {
    Arguments given = new Arguments(args, "servers", "import", "debounce-ms");
    Program.run(() -> run(given));
  }

  private static int run(Arguments given) throws IOException {
    try (Holdfast hf = Holdfast.connect(given.servers())) {
      Dictionary dictionary = hf.dictionary(given.name());
      if (given.has("import")) {
        // The file is never in memory as a whole.
        try (Stream<String> lines = Files.lines(Path.of(given.text("import", "")))) {
          Stream<Entry> entries = lines.filter(line -> !line.isBlank()).map(l -> Entry.of(l, l));
          long count = dictionary.importAll(entries.iterator()).entryCount();
          System.out.println("imported " + count + " entries");
        }
      }
      SuggestOptions options = SuggestOptions.DEFAULTS.limit(5);
      try (TypeAhead field = dictionary.typeAhead(options, given.millis("debounce-ms", 30))) {
        complete(field, new BufferedReader(new InputStreamReader(System.in)));
      }
      return 0;
    }
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
    System.out.println(text + ": " + (found.isEmpty() ? "nothing" : texts));
  }
}
