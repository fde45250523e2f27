package io.pointsman.config.value;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A model's own queue: a group of keys, or {@code model=most}. */
final class ModelQueueType implements ValueType<ModelQueue> {
  private static final String MODEL = "model";
  private static final String MOST = "max-concurrent-requests";
  private static final String SIZE = "queue-size";
  private static final String STATUS = "queue-full-status";
  private static final List<String> KEYS = List.of(MODEL, MOST, SIZE, STATUS);
  private static final String EXPECTED =
      "a group with model, max-concurrent-requests, queue-size, queue-full-status, or model=most";

  private final Map<String, ValueType<Integer>> numbers;

  private ModelQueueType(Map<String, ValueType<Integer>> numbers) {
    this.numbers = numbers;
  }

  /**
   * @param most type of {@code max-concurrent-requests}
   * @param size type of {@code queue-size}
   * @param status type of {@code queue-full-status}
   */
  static ValueType<List<ModelQueue>> list(
      ValueType<Integer> most, ValueType<Integer> size, ValueType<Integer> status) {
    return new ValueTypes.ListType<>(
        "<model=most>",
        "a list, each " + EXPECTED,
        new ModelQueueType(Map.of(MOST, most, SIZE, size, STATUS, status)),
        ValueTypes::commaSeparated);
  }

  @Override
  public ModelQueue read(RawValue raw) {
    return switch (raw) {
      case RawValue.Scalar(String text, String where) -> {
        int equal = text.lastIndexOf('=');
        if (equal <= 0) {
          throw new IllegalArgumentException(text + " (expected: " + EXPECTED + ")");
        }
        RawValue most = new RawValue.Scalar(text.substring(equal + 1), where);
        yield of(Map.of(MODEL, new RawValue.Scalar(text.substring(0, equal), where), MOST, most));
      }
      case RawValue.Entries(Map<String, RawValue> entries, _) -> of(entries);
      case RawValue.Items _ ->
          throw new IllegalArgumentException("a list (expected: " + EXPECTED + ")");
    };
  }

  private ModelQueue of(Map<String, RawValue> entries) {
    for (String key : entries.keySet()) {
      if (!KEYS.contains(key)) {
        throw new IllegalArgumentException(key + ": unknown key" + Nearest.hint(key, KEYS));
      }
    }
    if (!(entries.get(MODEL) instanceof RawValue.Scalar(String model, _)) || model.isBlank()) {
      throw new IllegalArgumentException("model: missing (expected: a model's name)");
    }
    Integer most = number(MOST, entries);
    if (most == null) {
      throw new IllegalArgumentException(MOST + ": missing (expected: " + expected(MOST) + ")");
    }
    return new ModelQueue(model, most, number(SIZE, entries), number(STATUS, entries));
  }

  private String expected(String key) {
    ValueType<Integer> type = numbers.get(key);
    return type == null ? "" : type.expected();
  }

  private @Nullable Integer number(String key, Map<String, RawValue> entries) {
    RawValue written = entries.get(key);
    ValueType<Integer> type = numbers.get(key);
    if (written == null || type == null) {
      return null;
    }
    try {
      return type.read(written);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(key + ": " + e.getMessage(), e);
    }
  }

  @Override
  public String format(ModelQueue value) {
    StringBuilder out = new StringBuilder("{model: ").append(ValueTypes.quoted(value.model()));
    append(out, MOST, value.maxConcurrent());
    append(out, SIZE, value.queueSize());
    append(out, STATUS, value.fullStatus());
    return out.append('}').toString();
  }

  private static void append(StringBuilder out, String key, @Nullable Integer number) {
    if (number != null) {
      out.append(", ").append(key).append(": ").append(number);
    }
  }

  @Override
  public String expected() {
    return EXPECTED;
  }

  @Override
  public String label() {
    return "<model=most>";
  }
}
