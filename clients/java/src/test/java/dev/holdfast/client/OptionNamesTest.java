package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.holdfast.v1.CommandFailed;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class OptionNamesTest {
  @Test
  @DisplayName("the texts of servers name the options, and names in quotes stay")
  void texts() {
    assertEquals(
        "limit must be at least 0",
        OptionNames.in("acquire_permits.initial_limit must be at least 0"));
    assertEquals("ttl is below 100ms", OptionNames.in("acquire_lock.ttl is below 100ms"));
    assertEquals("\"holder_id\" is held", OptionNames.in("\"holder_id\" is held"));
    assertEquals("call again", OptionNames.in("repeat the call with the same request_id"));
    assertEquals("page_sizes of $1", OptionNames.in("page_sizes of $1"));
    assertEquals("metadata has 40", OptionNames.in("update.metadata_update.entries has 40"));
  }

  @Test
  @DisplayName("the texts of servers ask for no id that this package gives itself")
  void ids() {
    for (String id : List.of("a new request_id", "the same lease_id", "request_id 0f-1a")) {
      assertEquals("acquire again", OptionNames.in("acquire again with " + id));
    }
    assertEquals(
        "release leases, or use a second Holdfast",
        OptionNames.in("release leases, or open a second session with another client_id"));
  }

  @Test
  @DisplayName("the violations of an error name the options, and keep their fields")
  void violations() {
    String field = "acquire_lock.wait_timeout";
    HoldfastException error =
        Errors.ofCommand(
            CommandFailed.newBuilder()
                .addViolations(
                    dev.holdfast.v1.FieldViolation.newBuilder()
                        .setField(field)
                        .setDescription(field + " must not be negative"))
                .build());
    FieldViolation violation = error.violations().get(0);
    assertEquals(field, violation.field());
    assertEquals("waitFor must not be negative", violation.description());
  }
}
