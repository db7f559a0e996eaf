package dev.holdfast.client;

import dev.holdfast.v1.SuggestRecentsRequest;
import dev.holdfast.v1.SuggestRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Options of suggestions. Immutable: each method returns a copy. */
public final class SuggestOptions {
  /** The default of each option. */
  public static final SuggestOptions DEFAULTS = new SuggestOptions(0, List.of(), "", null);

  private final int limit;
  private final List<MatchKind> matchKinds;
  private final String recents;
  private final @Nullable Duration maxStaleness;

  private SuggestOptions(
      int limit, List<MatchKind> matchKinds, String recents, @Nullable Duration maxStaleness) {
    this.limit = limit;
    this.matchKinds = matchKinds;
    this.recents = recents;
    this.maxStaleness = maxStaleness;
  }

  /** The greatest number of suggestions. Default: 10. Maximum: 100. */
  public SuggestOptions limit(int limit) {
    return new SuggestOptions(limit, matchKinds, recents, maxStaleness);
  }

  /** Default: all kinds. */
  public SuggestOptions matchKinds(MatchKind... kinds) {
    return new SuggestOptions(limit, List.of(kinds), recents, maxStaleness);
  }

  /** The caller's list of recents, which rank first. Only for dictionaries. Default: none. */
  public SuggestOptions recents(String list) {
    return new SuggestOptions(limit, matchKinds, list, maxStaleness);
  }

  /** How old the answer may be. Only for dictionaries. Default: 0. Maximum: 1 hour. */
  public SuggestOptions maxStaleness(Duration age) {
    Durations.checked(age, "maxStaleness");
    return new SuggestOptions(limit, matchKinds, recents, age);
  }

  SuggestRequest.Builder request(String dictionary) {
    SuggestRequest.Builder request =
        SuggestRequest.newBuilder()
            .setDictionary(dictionary)
            .setPageSize(limit)
            .addAllMatchKinds(codes())
            .setRecentsList(recents);
    return maxStaleness == null
        ? request
        : request.setMaxStaleness(Durations.proto(Durations.nanos(maxStaleness)));
  }

  SuggestRecentsRequest.Builder recentsRequest(String list) {
    return SuggestRecentsRequest.newBuilder()
        .setList(list)
        .setPageSize(limit)
        .addAllMatchKinds(codes());
  }

  private List<dev.holdfast.v1.MatchKind> codes() {
    List<dev.holdfast.v1.MatchKind> codes = new ArrayList<>();
    matchKinds.forEach(kind -> codes.add(kind.code()));
    return codes;
  }
}
