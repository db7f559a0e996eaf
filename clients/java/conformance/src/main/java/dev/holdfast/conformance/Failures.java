package dev.holdfast.conformance;

import com.google.gson.JsonObject;
import dev.holdfast.client.HoldfastException;
import dev.holdfast.client.LeaseLostException;
import dev.holdfast.client.LimitMismatchException;
import io.grpc.Status;

/** The error of a result. */
final class Failures {
  private Failures() {}

  static JsonObject of(Throwable error) {
    JsonObject failure = new JsonObject();
    failure.addProperty("text", String.valueOf(error.getMessage()));
    if (error instanceof IllegalArgumentException) {
      // The library itself has refused an argument.
      failure.addProperty("class", "invalid_request");
      failure.addProperty("reason", "INVALID_FIELD");
      failure.addProperty("code", Status.Code.INVALID_ARGUMENT.value());
      return failure;
    }
    if (!(error instanceof HoldfastException)) {
      failure.addProperty("class", "other");
      failure.addProperty("reason", "");
      failure.addProperty("code", Status.Code.UNKNOWN.value());
      failure.addProperty("inner", String.valueOf(error.getMessage()));
      return failure;
    }
    HoldfastException known = (HoldfastException) error;
    failure.addProperty("class", classOf(known));
    failure.addProperty("reason", known.reason());
    failure.addProperty("code", known.code());
    if (known instanceof LimitMismatchException) {
      failure.addProperty("limit", ((LimitMismatchException) known).limit());
      failure.addProperty("expected_limit", ((LimitMismatchException) known).expectedLimit());
    }
    if (known instanceof LeaseLostException) {
      Throwable inner = known.getCause();
      failure.addProperty("cause", ((LeaseLostException) known).lossCause().name());
      failure.addProperty("inner", inner == null ? "" : String.valueOf(inner.getMessage()));
    }
    return failure;
  }

  /** NoSuchSemaphoreException is no_such_semaphore. */
  private static String classOf(HoldfastException error) {
    if (error.getClass() == HoldfastException.class) {
      return "other";
    }
    String name = error.getClass().getSimpleName().replace("Exception", "");
    return name.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toLowerCase();
  }
}
