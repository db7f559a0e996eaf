package dev.holdfast.conformance;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.io.PrintStream;

/** Writes JSON lines. */
final class Output {
  private static final Gson GSON =
      new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

  private final PrintStream stream;

  Output(PrintStream stream) {
    this.stream = stream;
  }

  void ready() {
    JsonObject message = flag("ready");
    message.addProperty("language", "java");
    message.addProperty("protocol", 1);
    write(message);
  }

  void result(long id, JsonObject result) {
    result.addProperty("id", id);
    write(result);
  }

  /** Events come at any time, from any thread. */
  synchronized void write(JsonObject message) {
    stream.println(GSON.toJson(message));
    stream.flush();
  }

  static JsonObject flag(String name) {
    JsonObject object = new JsonObject();
    object.addProperty(name, true);
    return object;
  }
}
