package io.pointsman.config.value;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A model's own policy: a group with {@code model} and policy keys, or {@code model=policy}. */
final class ModelPolicyType implements ValueType<ModelPolicy> {
  private static final String MODEL = "model";
  private static final String POLICY = "policy";
  private static final String EXPECTED =
      "a group with model, policy and the policy's keys, or model=policy";

  private final Map<String, ValueType<?>> keys;

  /**
   * @param keys types of the keys that can be set per model, by path
   */
  ModelPolicyType(Map<String, ValueType<?>> keys) {
    this.keys = keys;
  }

  static ValueType<List<ModelPolicy>> list(Map<String, ValueType<?>> keys) {
    return new ValueTypes.ListType<>(
        "<model=policy>",
        "a list, each " + EXPECTED,
        new ModelPolicyType(keys),
        ValueTypes::commaSeparated);
  }

  @Override
  public ModelPolicy read(RawValue raw) {
    Map<String, RawValue> written = new LinkedHashMap<>();
    switch (raw) {
      case RawValue.Scalar(String text, String where) -> {
        int equal = text.lastIndexOf('=');
        if (equal <= 0) {
          throw new IllegalArgumentException(text + " (expected: " + EXPECTED + ")");
        }
        written.put(MODEL, new RawValue.Scalar(text.substring(0, equal), where));
        written.put(POLICY, new RawValue.Scalar(text.substring(equal + 1), where));
      }
      case RawValue.Entries(Map<String, RawValue> entries, _) -> flatten("", entries, written);
      case RawValue.Items _ ->
          throw new IllegalArgumentException("a list (expected: " + EXPECTED + ")");
    }
    RawValue model = written.remove(MODEL);
    if (!(model instanceof RawValue.Scalar(String name, _))) {
      throw new IllegalArgumentException("model: missing (expected: a model's name)");
    }
    Map<String, String> settings = new LinkedHashMap<>();
    written.forEach((path, value) -> settings.put(path, checked(path, value)));
    return new ModelPolicy(name, settings);
  }

  private static void flatten(
      String group, Map<String, RawValue> entries, Map<String, RawValue> into) {
    entries.forEach(
        (name, raw) -> {
          if (raw instanceof RawValue.Entries(Map<String, RawValue> below, _)) {
            flatten(group + name + ".", below, into);
          } else {
            into.put(group + name, raw);
          }
        });
  }

  private String checked(String path, RawValue value) {
    ValueType<?> type = keys.get(path);
    if (type == null) {
      List<String> known = new ArrayList<>(keys.keySet());
      known.add(MODEL);
      throw new IllegalArgumentException(path + ": unknown key" + Nearest.hint(path, known));
    }
    try {
      return rewritten(type, value);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(path + ": " + e.getMessage(), e);
    }
  }

  private static <T> String rewritten(ValueType<T> type, RawValue value) {
    return type.format(type.read(value));
  }

  @Override
  public String format(ModelPolicy value) {
    StringBuilder out = new StringBuilder("{model: ").append(ValueTypes.quoted(value.model()));
    new TreeMap<>(value.settings())
        .forEach((path, text) -> out.append(", ").append(path).append(": ").append(text));
    return out.append('}').toString();
  }

  @Override
  public String expected() {
    return EXPECTED;
  }

  @Override
  public String label() {
    return "<model=policy>";
  }
}
