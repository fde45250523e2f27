package io.pointsman.request.json;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reader of JSON values into JDK objects: {@code String}, {@code Long}, {@code Double}, {@code
 * Boolean}, {@code List} and {@code Map}. It reads through a cursor, which records any error.
 */
public final class JsonValues {
  /** Maximum depth. Deeper arrays and objects are read as null. */
  private static final int DEEPEST = 64;

  /** Maximum number of characters of a {@code Long}. Longer integers are read as {@code Double}. */
  private static final int MOST_DIGITS = 18;

  private final JsonCursor json;
  private final byte[] bytes;
  private final int start;

  /**
   * @param json cursor before a value of the text
   * @param bytes array that contains the text
   * @param start index of the first byte of the text
   */
  public JsonValues(JsonCursor json, byte[] bytes, int start) {
    this.json = json;
    this.bytes = bytes;
    this.start = start;
  }

  /** The value at the cursor; null if it is {@code null}, invalid or too deep. */
  public @Nullable Object next() {
    return next(0);
  }

  private @Nullable Object next(int depth) {
    int first = json.peek();
    boolean deeper = depth < DEEPEST;
    if (first == '{' && deeper) {
      return members(depth);
    }
    if (first == '[' && deeper) {
      return elements(depth);
    }
    int from = start + json.position();
    json.value();
    if (json.problem() != null || first == '{' || first == '[') {
      return null;
    }
    int to = start + json.position();
    return first == '"'
        ? JsonText.decode(bytes, from + 1, to - 1)
        : scalar(new String(bytes, from, to - from, StandardCharsets.US_ASCII));
  }

  private Map<String, Object> members(int depth) {
    Map<String, Object> all = new LinkedHashMap<>();
    for (boolean more = json.firstMember(); more; more = json.nextMember()) {
      String key = json.key();
      Object value = next(depth + 1);
      if (value == null) {
        all.remove(key);
      } else {
        all.put(key, value);
      }
    }
    return Collections.unmodifiableMap(all);
  }

  private List<@Nullable Object> elements(int depth) {
    List<@Nullable Object> all = new ArrayList<>();
    for (boolean more = json.firstElement(); more; more = json.nextElement()) {
      all.add(next(depth + 1));
    }
    return Collections.unmodifiableList(all);
  }

  private static @Nullable Object scalar(String text) {
    return switch (text) {
      case "null" -> null;
      case "true" -> true;
      case "false" -> false;
      default -> number(text);
    };
  }

  private static @Nullable Object number(String text) {
    try {
      boolean whole = text.length() <= MOST_DIGITS && text.matches("-?[0-9]+");
      return whole ? (Object) Long.valueOf(text) : Double.valueOf(text);
    } catch (NumberFormatException e) {
      return null;
    }
  }
}
