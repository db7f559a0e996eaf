package dev.holdfast.client;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The names of this package for the fields and the advice in the texts of a server. */
final class OptionNames {
  private static final Map<String, String> NAMES =
      Map.ofEntries(
          Map.entry("repeat the call with the same request_id", "call again"),
          Map.entry("use a new request_id", "call again"),
          Map.entry("open a second session with another client_id", "use a second Holdfast"),
          Map.entry("update.metadata_update.entries", "metadata"),
          Map.entry("wait_timeout", "waitFor"),
          Map.entry("permit_count", "permits"),
          Map.entry("initial_limit", "limit"),
          Map.entry("expected_limit", "limit"),
          Map.entry("holder_id", "holderId"),
          Map.entry("page_size", "limit"),
          Map.entry("match_kinds", "matchKinds"),
          Map.entry("recents_list", "recents"),
          Map.entry("max_staleness", "maxStaleness"),
          Map.entry("entry_ids", "ids"),
          Map.entry("entry_id", "id"),
          Map.entry("typo_matching", "typos"));

  /**
   * Also finds names in quotes, which stay, the commands before a field, and the ids that this
   * package itself repeats or renews.
   */
  private static final Pattern PARTS =
      Pattern.compile(
          "\"(?:[^\"\\\\]|\\\\.)*\""
              + "|\\b(?:acquire_lock|acquire_permits|start|suggest)\\.(?=[a-z_]+\\b)"
              + "| with (?:a new request_id|the same lease_id|request_id [0-9A-Za-z-]+)\\b"
              + "|\\b(?:"
              + String.join("|", NAMES.keySet())
              + ")\\b");

  private OptionNames() {}

  static String in(String text) {
    return PARTS
        .matcher(text)
        .replaceAll(
            part -> {
              String found = part.group();
              String own = found.startsWith("\"") ? found : NAMES.getOrDefault(found, "");
              return Matcher.quoteReplacement(own);
            });
  }
}
