package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

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
  }
}
