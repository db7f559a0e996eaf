package dev.holdfast.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import dev.holdfast.client.Dictionary;
import dev.holdfast.client.Election;
import dev.holdfast.client.Entry;
import dev.holdfast.client.Leader;
import dev.holdfast.client.Observation;
import dev.holdfast.client.Recent;
import dev.holdfast.client.Recents;
import dev.holdfast.client.SuggestOptions;
import dev.holdfast.client.Suggestion;
import dev.holdfast.client.TypeAhead;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** The commands about elections, recents and dictionaries. */
final class Products {
  /** The elections of the campaigns, by the name of the lease. */
  private static final Map<String, Election> ELECTIONS = new ConcurrentHashMap<>();

  private Products() {}

  static Map<String, Command> all() {
    Map<String, Command> all = new HashMap<>();
    all.put("campaign", Products::campaign);
    all.put("leader", Products::leader);
    all.put("observe", Products::observe);
    all.put("add_recent", Products::addRecent);
    all.put("suggest_recents", Products::suggestRecents);
    all.put("create_dictionary", ok((desk, fields) -> dictionary(desk, fields).create()));
    all.put("put", ok((desk, fields) -> dictionary(desk, fields).put(entries(fields))));
    all.put(
        "import",
        ok((desk, fields) -> dictionary(desk, fields).importAll(entries(fields).iterator())));
    all.put("suggest", Products::suggest);
    all.put("suggest_all", Products::suggestAll);
    all.put("update_value", Products::updateValue);
    all.put(
        "record_selection",
        ok((desk, fields) -> dictionary(desk, fields).recordSelection(fields.text("entry_id"))));
    all.put("delete_dictionary", ok((desk, fields) -> dictionary(desk, fields).delete()));
    all.put("type_ahead", Products::typeAhead);
    all.put("type", Products::type);
    return all;
  }

  private interface Act {
    void run(Desk desk, Fields fields);
  }

  private static Command ok(Act act) {
    return (desk, fields) -> {
      act.run(desk, fields);
      return Output.flag("ok");
    };
  }

  private static Dictionary dictionary(Desk desk, Fields fields) {
    return desk.client(fields).dictionary(fields.text("dictionary"));
  }

  private static Recents recents(Desk desk, Fields fields) {
    return desk.client(fields).recents(fields.text("list"));
  }

  private static Election election(Desk desk, Fields fields) {
    return desk.client(fields).election(fields.text("election"));
  }

  private static JsonObject updateValue(Desk desk, Fields fields) {
    ELECTIONS.get(fields.text("lease")).updateValue(desk.held(fields).lease, fields.text("value"));
    return Output.flag("updated");
  }

  private static JsonObject campaign(Desk desk, Fields fields) throws InterruptedException {
    ELECTIONS.put(fields.text("lease"), election(desk, fields));
    return Commands.acquire(
        desk,
        fields,
        Commands.options(election(desk, fields).campaign(fields.text("value")), fields));
  }

  private static JsonObject leader(Desk desk, Fields fields) {
    JsonObject result = new JsonObject();
    Optional<Leader> leader = election(desk, fields).leader();
    if (leader.isEmpty()) {
      result.add("leader", JsonNull.INSTANCE);
      return result;
    }
    JsonObject found = new JsonObject();
    found.addProperty("value", leader.get().value());
    found.addProperty("token", Long.toString(leader.get().fencingToken()));
    result.add("leader", found);
    return result;
  }

  private static JsonObject observe(Desk desk, Fields fields) throws Exception {
    Observation observation =
        election(desk, fields)
            .observe(
                leader -> {
                  JsonObject event = new JsonObject();
                  event.addProperty("event", "leader");
                  event.addProperty("of", fields.id());
                  event.addProperty("value", leader.map(Leader::value).orElse(null));
                  desk.output.write(event);
                });
    desk.cancels.put(fields.id(), observation::close);
    Commands.await(observation.ended());
    return Output.flag("cancelled");
  }

  private static JsonObject addRecent(Desk desk, Fields fields) {
    Recent recent = Recent.of(fields.text("text"));
    recents(desk, fields)
        .add(fields.has("entry_id") ? recent.entryId(fields.text("entry_id")) : recent);
    return Output.flag("ok");
  }

  private static JsonObject suggestRecents(Desk desk, Fields fields) {
    return suggested(recents(desk, fields).suggest(fields.text("query"), options(fields)));
  }

  private static JsonObject suggest(Desk desk, Fields fields) {
    return suggested(dictionary(desk, fields).suggest(fields.text("query"), options(fields)));
  }

  private static JsonObject suggestAll(Desk desk, Fields fields) {
    SuggestOptions options =
        fields.has("page_size")
            ? SuggestOptions.DEFAULTS.limit(fields.number("page_size"))
            : SuggestOptions.DEFAULTS;
    return suggested(
        dictionary(desk, fields)
            .suggestAll(fields.text("query"), options)
            .collect(Collectors.toList()));
  }

  private static SuggestOptions options(Fields fields) {
    return fields.has("limit")
        ? SuggestOptions.DEFAULTS.limit(fields.number("limit"))
        : SuggestOptions.DEFAULTS;
  }

  private static JsonObject typeAhead(Desk desk, Fields fields) {
    Dictionary dictionary = dictionary(desk, fields);
    TypeAhead[] input = new TypeAhead[1];
    fields.duration(
        "debounce_ms",
        (Duration span) -> input[0] = dictionary.typeAhead(SuggestOptions.DEFAULTS, span));
    desk.inputs.put(fields.text("as"), input[0] == null ? dictionary.typeAhead() : input[0]);
    return Output.flag("opened");
  }

  private static JsonObject type(Desk desk, Fields fields) throws Exception {
    Optional<List<Suggestion>> found =
        Commands.await(desk.input(fields).type(fields.text("query")));
    return found.isPresent() ? suggested(found.get()) : Output.flag("superseded");
  }

  private static JsonObject suggested(List<Suggestion> suggestions) {
    JsonArray list = new JsonArray();
    for (Suggestion suggestion : suggestions) {
      JsonObject one = new JsonObject();
      one.addProperty("entry_id", suggestion.id());
      one.addProperty("text", suggestion.text());
      list.add(one);
    }
    JsonObject result = new JsonObject();
    result.add("suggestions", list);
    return result;
  }

  private static List<Entry> entries(Fields fields) {
    List<Entry> entries = new ArrayList<>();
    for (Fields one : fields.parts("entries")) {
      Entry entry = Entry.of(one.text("entry_id"), one.text("text"));
      entries.add(one.has("weight") ? entry.weight(Long.parseLong(one.text("weight"))) : entry);
    }
    return entries;
  }
}
