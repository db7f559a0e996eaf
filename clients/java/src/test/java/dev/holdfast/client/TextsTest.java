package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The texts of callers. */
class TextsTest {
  @Test
  @DisplayName("half of a surrogate pair is refused, because a message would have another text")
  void half() {
    for (String text : new String[] {"a\ud800", "\udc00", "\udc00\ud800", "a\ud83dz"}) {
      isRefused(text);
    }
  }

  private static void isRefused(String text) {
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> new Wanted(text, true));
    assertTrue(error.getMessage().startsWith("name must not have half of a surrogate pair"));
    assertThrows(IllegalArgumentException.class, () -> Texts.sendable(Map.of("key", text)));
    assertThrows(IllegalArgumentException.class, () -> Texts.sendable(Map.of(text, "value")));
    assertThrows(IllegalArgumentException.class, () -> Entry.of("1", text));
    assertThrows(IllegalArgumentException.class, () -> Entry.of("1", "a").aliases(text));
    assertThrows(IllegalArgumentException.class, () -> Recent.of(text));
    assertThrows(IllegalArgumentException.class, () -> Holdfast.builder("a:1").holderId(text));
  }

  @Test
  @DisplayName("whole pairs and other texts stay as they are")
  void whole() {
    for (String text : new String[] {"", "Zürich", "\ud83d\ude80", "\u0000"}) {
      assertEquals(text, Texts.sendable(text, "name"));
    }
  }
}
