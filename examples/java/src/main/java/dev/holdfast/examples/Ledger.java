package dev.holdfast.examples;

import com.google.gson.Gson;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;

/** A protected store: it refuses a token that is smaller than the token of an earlier write. */
final class Ledger {
  private static final Gson GSON = new Gson();
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final URI address;

  Ledger(String url, String name) {
    address = URI.create(url + "/" + name);
  }

  /** Returns false if the store refuses the token. */
  boolean write(long token, String text) throws IOException, InterruptedException {
    String body = GSON.toJson(Map.of("token", token, "text", text));
    HttpRequest request =
        HttpRequest.newBuilder(address)
            .timeout(TIMEOUT)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build();
    HttpResponse<String> answer = http.send(request, BodyHandlers.ofString());
    switch (answer.statusCode()) {
      case 200:
        return true;
      case 409:
        System.out.printf("ledger refused token %d: token %s has written%n", token, answer.body());
        return false;
      default:
        throw new IOException("the ledger answered " + answer.statusCode());
    }
  }
}
