package dev.holdfast.client;

import dev.holdfast.v1.AutocompleteServiceGrpc;
import dev.holdfast.v1.CreateDictionaryRequest;
import dev.holdfast.v1.DeleteDictionaryRequest;
import dev.holdfast.v1.DeleteEntriesRequest;
import dev.holdfast.v1.GetDictionaryRequest;
import dev.holdfast.v1.ImportStart;
import dev.holdfast.v1.PutEntriesRequest;
import dev.holdfast.v1.RecordSelectionRequest;
import dev.holdfast.v1.SuggestRequest;
import java.time.Duration;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;

/** A set of entries that all callers share. All methods throw a {@link HoldfastException}. */
public final class Dictionary {
  private static final long PUT_NANOS = Durations.millis(Numbers.Limits.PUT_MS);

  private final Client client;
  private final CallChannel calls;
  private final String name;

  Dictionary(Client client, String name) {
    this.client = client;
    this.calls = client.calls;
    this.name = Texts.checked(name, "name");
  }

  /**
   * Creates the dictionary with the profile {@link Profile#DEFAULTS}. Without effect if it exists
   * so.
   */
  public void create() {
    create(Profile.DEFAULTS);
  }

  /** Without effect if the dictionary exists with the same profile. */
  public void create(Profile profile) {
    CreateDictionaryRequest request =
        CreateDictionaryRequest.newBuilder()
            .setDictionary(name)
            .setProfile(profile.message())
            .build();
    calls.unary(AutocompleteServiceGrpc.getCreateDictionaryMethod(), request);
  }

  /** Adds or replaces entries. Queries see each batch of up to 1,000 entries as a whole. */
  public void put(Iterable<Entry> entries) {
    EntryBatches batches = new EntryBatches(entries.iterator());
    List<dev.holdfast.v1.Entry> batch = batches.next();
    while (!batch.isEmpty()) {
      PutEntriesRequest request =
          PutEntriesRequest.newBuilder().setDictionary(name).addAllEntries(batch).build();
      calls.unary(AutocompleteServiceGrpc.getPutEntriesMethod(), request, PUT_NANOS, true);
      batch = batches.next();
    }
  }

  /** Returns the number of entries that existed. At most 1,000 ids. */
  public int deleteEntries(Collection<String> ids) {
    DeleteEntriesRequest request =
        DeleteEntriesRequest.newBuilder().setDictionary(name).addAllEntryIds(ids).build();
    return calls
        .unaryOnce(AutocompleteServiceGrpc.getDeleteEntriesMethod(), request)
        .getDeletedCount();
  }

  /**
   * Replaces all entries in one step, as {@link #importAll(Iterator, Profile)} does. The dictionary
   * keeps its profile, and a new dictionary has the profile {@link Profile#DEFAULTS}.
   */
  public DictionaryInfo importAll(Iterator<Entry> entries) {
    ImportStart start = ImportStart.newBuilder().setDictionary(name).build();
    return new ImportCall(calls).run(start, new EntryBatches(entries));
  }

  /**
   * Replaces all entries in one step. Reads the entries as fast as the server takes them, so that
   * they need not fit into memory. An import that fails changes nothing, and is not repeated,
   * because the iterator has been read.
   *
   * @throws DictionaryExistsException if the dictionary exists with another profile
   */
  public DictionaryInfo importAll(Iterator<Entry> entries, Profile profile) {
    ImportStart start =
        ImportStart.newBuilder().setDictionary(name).setProfile(profile.message()).build();
    return new ImportCall(calls).run(start, new EntryBatches(entries));
  }

  /** The best suggestions for a query. */
  public List<Suggestion> suggest(String query) {
    return suggest(query, SuggestOptions.DEFAULTS);
  }

  /** The best suggestions for a query. */
  public List<Suggestion> suggest(String query, SuggestOptions options) {
    SuggestRequest request = options.request(name).setQuery(query).build();
    return Suggestion.listOf(
        calls.unary(AutocompleteServiceGrpc.getSuggestMethod(), request).getSuggestionsList());
  }

  /**
   * All suggestions for a query, the best first. Read page by page while the stream is consumed;
   * {@link SuggestOptions#limit} is the size of a page, by default 100.
   */
  public Stream<Suggestion> suggestAll(String query, SuggestOptions options) {
    return Pages.suggestions(calls, options.request(name).setQuery(query));
  }

  /** All suggestions for a query, as {@link #suggestAll(String, SuggestOptions)}. */
  public Stream<Suggestion> suggestAll(String query) {
    return suggestAll(query, SuggestOptions.DEFAULTS);
  }

  /**
   * Suggestions while somebody types, with a debounce of 30 ms. Close the result with the input
   * field.
   */
  public TypeAhead typeAhead() {
    return typeAhead(SuggestOptions.DEFAULTS, Duration.ofMillis(Numbers.TypeAhead.DEBOUNCE_MS));
  }

  /**
   * Suggestions while somebody types. Close the result with the input field.
   *
   * @param debounce the pause after a keystroke before the query is sent; zero: each keystroke is
   *     sent
   */
  public TypeAhead typeAhead(SuggestOptions options, Duration debounce) {
    long nanos = Durations.checked(debounce, "debounce");
    return new TypeAhead(client, options.request(name).build(), nanos);
  }

  /**
   * Counts a selection of an entry, which raises its score. Returns false if there is no such
   * entry.
   */
  public boolean recordSelection(String entryId) {
    return recordSelection(entryId, 1);
  }

  /**
   * Counts selections of an entry, which raise its score. Returns false if there is no such entry.
   */
  public boolean recordSelection(String entryId, int count) {
    RecordSelectionRequest request =
        RecordSelectionRequest.newBuilder()
            .setDictionary(name)
            .setEntryId(entryId)
            .setCount(count)
            .build();
    return calls
        .unaryOnce(AutocompleteServiceGrpc.getRecordSelectionMethod(), request)
        .getRecorded();
  }

  /** All entries in the order of their texts. Read page by page while the stream is consumed. */
  public Stream<ListedEntry> entries() {
    return Pages.entries(calls, name);
  }

  /** Size and state. */
  public DictionaryInfo info() {
    GetDictionaryRequest request = GetDictionaryRequest.newBuilder().setDictionary(name).build();
    return new DictionaryInfo(
        calls.unary(AutocompleteServiceGrpc.getGetDictionaryMethod(), request).getDictionary());
  }

  /** Deletes the dictionary with all entries. Returns false if there is none. */
  public boolean delete() {
    DeleteDictionaryRequest request =
        DeleteDictionaryRequest.newBuilder().setDictionary(name).build();
    return calls.unary(AutocompleteServiceGrpc.getDeleteDictionaryMethod(), request).getDeleted();
  }
}
