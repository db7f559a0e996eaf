package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class NumbersTest {
  @Test
  @DisplayName("the numbers are those of clients/numbers.json")
  void sameNumbers() throws Exception {
    JsonObject shared = shared();
    List<Class<?>> groups = List.of(Numbers.class.getDeclaredClasses());
    Set<String> names = new HashSet<>();
    for (Class<?> group : groups) {
      String name = snake(group.getSimpleName());
      names.add(name);
      compare(shared.getAsJsonObject(name), group);
    }
    assertEquals(shared.keySet(), names);
  }

  private static JsonObject shared() throws IOException {
    Path file = Path.of(System.getProperty("numbers"));
    return JsonParser.parseString(Files.readString(file)).getAsJsonObject();
  }

  private static void compare(JsonObject shared, Class<?> group) throws IllegalAccessException {
    Set<String> names = new HashSet<>();
    for (Field field : group.getDeclaredFields()) {
      String name = field.getName().toLowerCase(Locale.ROOT);
      JsonElement expected = shared.get(name);
      assertFalse(expected == null, name + " is not shared");
      names.add(name);
      Object own = field.get(null);
      if (own instanceof Set) {
        List<String> reasons = new ArrayList<>();
        expected.getAsJsonArray().forEach(one -> reasons.add(one.getAsString()));
        assertEquals(Set.copyOf(reasons), own, name);
      } else {
        assertEquals(expected.getAsDouble(), ((Number) own).doubleValue(), name);
      }
    }
    for (Map.Entry<String, JsonElement> entry : shared.entrySet()) {
      assertEquals(true, names.contains(entry.getKey()), entry.getKey() + " is missing");
    }
  }

  private static String snake(String name) {
    return name.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
  }
}
