package dev.holdfast.conformance;

import com.google.gson.JsonObject;
import dev.holdfast.client.Lease;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Runs a body under a lock. The body ends by end_work, or by its cancellation. */
final class WithLock {
  private final Desk desk;
  private final Fields fields;
  private final String token;

  private WithLock(Desk desk, Fields fields, Lease lease) {
    this.desk = desk;
    this.fields = fields;
    this.token = Long.toString(lease.fencingToken());
  }

  static JsonObject serve(Desk desk, Fields fields) throws Exception {
    Commands.lock(desk, fields)
        .<Exception>run(lease -> new WithLock(desk, fields, lease).work(lease));
    return Output.flag("done");
  }

  private void work(Lease lease) throws Exception {
    CompletableFuture<String> end = new CompletableFuture<>();
    desk.works.put(fields.id(), end);
    try {
      tell("started");
      String failure = waitFor(end, lease);
      if (!failure.isEmpty()) {
        throw new IllegalStateException(failure);
      }
    } finally {
      desk.works.remove(fields.id());
      tell("ended");
    }
  }

  private String waitFor(CompletableFuture<String> end, Lease lease)
      throws InterruptedException, ExecutionException {
    try {
      return end.get();
    } catch (InterruptedException e) {
      tell("cancelled");
      if (fields.flag("ignore_cancel")) {
        return end.get();
      }
      if (lease.loss().isPresent()) {
        return "";
      }
      throw e;
    }
  }

  private void tell(String state) {
    JsonObject event = new JsonObject();
    event.addProperty("event", "body");
    event.addProperty("of", fields.id());
    event.addProperty("state", state);
    event.addProperty("token", token);
    desk.output.write(event);
  }
}
