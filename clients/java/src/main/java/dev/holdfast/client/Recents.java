package dev.holdfast.client;

import dev.holdfast.v1.AddRecentRequest;
import dev.holdfast.v1.AutocompleteServiceGrpc;
import dev.holdfast.v1.DeleteRecentsRequest;
import dev.holdfast.v1.RemoveRecentRequest;
import dev.holdfast.v1.SuggestRecentsRequest;
import java.util.List;

/** The latest choices of one user. All methods throw a {@link HoldfastException}. */
public final class Recents {
  private final CallChannel calls;
  private final String list;

  Recents(CallChannel calls, String list) {
    this.calls = calls;
    this.list = Texts.checked(list, "list");
  }

  /** Puts a text at the front of the list. */
  public void add(String text) {
    add(Recent.of(text));
  }

  /** Puts a text at the front of the list. */
  public void add(Recent recent) {
    AddRecentRequest.Builder request =
        AddRecentRequest.newBuilder()
            .setList(list)
            .setText(recent.text)
            .setEntryId(recent.entryId)
            .setPayload(recent.payload);
    if (recent.capacity != null) {
      request.setCapacity(recent.capacity);
    }
    calls.unary(AutocompleteServiceGrpc.getAddRecentMethod(), request.build());
  }

  /** Returns false if the list does not have the text. */
  public boolean remove(String text) {
    RemoveRecentRequest request =
        RemoveRecentRequest.newBuilder().setList(list).setText(text).build();
    return calls.unary(AutocompleteServiceGrpc.getRemoveRecentMethod(), request).getRemoved();
  }

  /** The latest matching texts. An empty query gives the latest texts. */
  public List<Suggestion> suggest(String query) {
    return suggest(query, SuggestOptions.DEFAULTS);
  }

  /** The latest matching texts. An empty query gives the latest texts. */
  public List<Suggestion> suggest(String query, SuggestOptions options) {
    SuggestRecentsRequest request = options.recentsRequest(list).setQuery(query).build();
    return Suggestion.listOf(
        calls
            .unary(AutocompleteServiceGrpc.getSuggestRecentsMethod(), request)
            .getSuggestionsList());
  }

  /** Deletes the whole list. Returns false if there is none. */
  public boolean delete() {
    DeleteRecentsRequest request = DeleteRecentsRequest.newBuilder().setList(list).build();
    return calls.unary(AutocompleteServiceGrpc.getDeleteRecentsMethod(), request).getDeleted();
  }
}
