package dev.holdfast.client;

import dev.holdfast.v1.AutocompleteServiceGrpc;
import dev.holdfast.v1.ListDictionariesRequest;
import dev.holdfast.v1.ListDictionariesResponse;
import dev.holdfast.v1.ListEntriesRequest;
import dev.holdfast.v1.ListEntriesResponse;
import dev.holdfast.v1.SuggestRequest;
import dev.holdfast.v1.SuggestResponse;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Lists that the server gives page by page. One page is in memory. */
final class Pages {
  private static final class Page<T> {
    final List<T> items;
    final String nextToken;

    Page(List<T> items, String nextToken) {
      this.items = items;
      this.nextToken = nextToken;
    }
  }

  /** The most suggestions of one page. */
  private static final int MAX_SUGGESTIONS = 100;

  private Pages() {}

  static Stream<ListedEntry> entries(CallChannel calls, String dictionary) {
    return all(
        token -> {
          ListEntriesRequest request =
              ListEntriesRequest.newBuilder()
                  .setDictionary(dictionary)
                  .setPageSize(Numbers.Entries.PAGE_SIZE)
                  .setPageToken(token)
                  .build();
          ListEntriesResponse page =
              calls.unary(AutocompleteServiceGrpc.getListEntriesMethod(), request);
          return new Page<>(
              page.getEntriesList().stream().map(ListedEntry::new).collect(Collectors.toList()),
              page.getNextPageToken());
        });
  }

  static Stream<Suggestion> suggestions(CallChannel calls, SuggestRequest.Builder request) {
    int size = request.getPageSize() == 0 ? MAX_SUGGESTIONS : request.getPageSize();
    SuggestRequest first = request.setPageSize(size).build();
    return all(
        token -> {
          SuggestResponse page =
              calls.unary(
                  AutocompleteServiceGrpc.getSuggestMethod(),
                  first.toBuilder().setPageToken(token).build());
          return new Page<>(
              Suggestion.listOf(page.getSuggestionsList()), page.getNextPageToken());
        });
  }

  static Stream<String> dictionaryNames(CallChannel calls) {
    return all(
        token -> {
          ListDictionariesRequest request =
              ListDictionariesRequest.newBuilder()
                  .setPageSize(Numbers.Entries.PAGE_SIZE)
                  .setPageToken(token)
                  .build();
          ListDictionariesResponse page =
              calls.unary(AutocompleteServiceGrpc.getListDictionariesMethod(), request);
          return new Page<>(
              page.getDictionariesList().stream()
                  .map(dev.holdfast.v1.Dictionary::getName)
                  .collect(Collectors.toList()),
              page.getNextPageToken());
        });
  }

  private static <T> Stream<T> all(Function<String, Page<T>> read) {
    Page<T> first = new Page<>(List.of(), "");
    return Stream.iterate(
            read.apply(""),
            page -> page != first,
            page -> page.nextToken.isEmpty() ? first : read.apply(page.nextToken))
        .flatMap(page -> page.items.stream());
  }
}
