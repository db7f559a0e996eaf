package dev.holdfast.conformance;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * The conformance driver of the Java client: JSON commands on stdin, results and events on stdout,
 * as clients/conformance/README.md describes.
 */
public final class Driver {
  private Driver() {}

  /** Serves commands until stdin ends. The leases are then left to the ends of their ttl. */
  public static void main(String[] args) throws IOException {
    WarmUp.run();
    Workers workers = new Workers();
    Desk desk = new Desk(new Output(System.out));
    Map<String, Command> commands = Commands.all();
    BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    desk.output.ready();
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      Fields fields = new Fields(JsonParser.parseString(line).getAsJsonObject());
      workers.begin(() -> run(desk, commands.get(fields.text("do")), fields));
    }
    Runtime.getRuntime().halt(0);
  }

  private static void run(Desk desk, Command command, Fields fields) {
    JsonObject result;
    desk.begin(fields.id());
    try {
      result = command == null ? Output.flag("unsupported") : command.serve(desk, fields);
    } catch (InterruptedException e) {
      result = Output.flag("cancelled");
    } catch (Exception | Error e) {
      result = new JsonObject();
      result.add("error", Failures.of(e));
    }
    desk.end(fields.id());
    desk.output.result(fields.id(), result);
  }
}
