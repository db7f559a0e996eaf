package dev.holdfast.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** The fields of a command. */
final class Fields {
  private final JsonObject object;

  Fields(JsonObject object) {
    this.object = object;
  }

  long id() {
    return object.get("id").getAsLong();
  }

  boolean has(String name) {
    return object.has(name) && !object.get(name).isJsonNull();
  }

  String text(String name) {
    return has(name) ? object.get(name).getAsString() : "";
  }

  int number(String name) {
    return object.get(name).getAsInt();
  }

  boolean flag(String name) {
    return has(name) && object.get(name).getAsBoolean();
  }

  /** Calls the consumer with a field in milliseconds, if the field is there. */
  void duration(String name, Consumer<Duration> consumer) {
    if (has(name)) {
      consumer.accept(Duration.ofNanos((long) (object.get(name).getAsDouble() * 1e6)));
    }
  }

  List<String> texts(String name) {
    List<String> texts = new ArrayList<>();
    object.getAsJsonArray(name).forEach(one -> texts.add(one.getAsString()));
    return texts;
  }

  /** Empty stands for null. */
  List<Optional<String>> optionalTexts(String name) {
    List<Optional<String>> texts = new ArrayList<>();
    object
        .getAsJsonArray(name)
        .forEach(
            one -> texts.add(one.isJsonNull() ? Optional.empty() : Optional.of(one.getAsString())));
    return texts;
  }

  Map<String, String> map(String name) {
    Map<String, String> map = new HashMap<>();
    for (Map.Entry<String, JsonElement> entry : object.getAsJsonObject(name).entrySet()) {
      map.put(entry.getKey(), entry.getValue().getAsString());
    }
    return map;
  }

  Fields part(String name) {
    return new Fields(object.getAsJsonObject(name));
  }

  List<Fields> parts(String name) {
    List<Fields> parts = new ArrayList<>();
    object.getAsJsonArray(name).forEach(one -> parts.add(new Fields(one.getAsJsonObject())));
    return parts;
  }
}
