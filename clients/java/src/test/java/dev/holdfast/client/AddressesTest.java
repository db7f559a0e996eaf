package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The addresses that a program gives. */
class AddressesTest {
  @Test
  @DisplayName("addresses come as elements or with commas, also of IPv6")
  void lists() {
    assertEquals(
        List.of("a:1", "b_2.example:65535", "[::1]:3"),
        Addresses.of("a:1, b_2.example:65535", "[::1]:3"));
  }

  @Test
  @DisplayName("an address that no server can have is refused at once, and is named")
  void refused() {
    for (String wrong :
        List.of("", "a", ":1", "a:", "a:0", "a:99999", "http://a:1", "a:1/", "::1:3", "a b:1")) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> Addresses.of("ok:1," + wrong), wrong);
      assertTrue(error.getMessage().endsWith("not \"" + wrong + "\""), error.getMessage());
    }
  }
}
