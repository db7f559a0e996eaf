package dev.holdfast.examples;

import static java.util.stream.Collectors.joining;

import dev.holdfast.client.Dictionary;
import dev.holdfast.client.Entry;
import dev.holdfast.client.Holdfast;
import dev.holdfast.client.SuggestOptions;
import dev.holdfast.client.Suggestion;
import dev.holdfast.client.TypeAhead;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** Shows suggestions for each line of stdin, the text of an input field after one more key. */
public final class TypeAheadExample {
  public static void main(String[] args) {
    Arguments given = new Arguments(args, "servers", "import", "debounce-ms");
    Program.run(() -> run(given));
  }

  private static int run(Arguments given) throws IOException {
    try (Holdfast hf = Holdfast.connect(given.servers())) {
      Dictionary dictionary = hf.dictionary(given.name());
      if (given.has("import")) {
        load(dictionary, Path.of(given.text("import", "")));
      }
      SuggestOptions options = SuggestOptions.DEFAULTS.limit(5);
      CompletableFuture<Void> shown = CompletableFuture.completedFuture(null);
      try (TypeAhead field = dictionary.typeAhead(options, given.millis("debounce-ms", 30));
          Scanner lines = new Scanner(System.in)) {
        while (!shown.isCompletedExceptionally() && lines.hasNextLine()) {
          String text = lines.nextLine();
          CompletableFuture<Void> next = // empty: a newer query has superseded this query
              field.type(text).thenAccept(answer -> answer.ifPresent(found -> show(text, found)));
          shown = CompletableFuture.allOf(shown, next);
        }
        shown.join();
      }
      return 0;
    }
  }

  /** Imports a word of each line. The file is never in memory as a whole. */
  private static void load(Dictionary dictionary, Path file) throws IOException {
    try (Stream<String> lines = Files.lines(file)) {
      Stream<Entry> entries = lines.filter(line -> !line.isBlank()).map(l -> Entry.of(l, l));
      long count = dictionary.importAll(entries.iterator()).entryCount();
      System.out.println("imported " + count + " entries");
    }
  }

  private static void show(String text, List<Suggestion> found) {
    String texts = found.stream().map(Suggestion::text).collect(joining(", "));
    System.out.println(text + ": " + (found.isEmpty() ? "nothing" : texts));
  }
}
