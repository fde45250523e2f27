package io.pointsman.app.config.value;

import io.pointsman.kubernetes.LabelSyntax;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Labels with values: a list of {@code label=value}, of which a flag may hold several, separated by
 * commas, or a group of labels.
 */
public final class SelectorType implements ValueType<Map<String, String>> {
  private static final String ITEM = "label=value";

  @Override
  public Map<String, String> read(Raw raw) {
    Map<String, String> labels = new LinkedHashMap<>();
    switch (raw) {
      case Raw.Scalar(String text, _) -> {
        for (String part : text.split(",", -1)) {
          if (!part.isBlank()) {
            put(labels, part.strip());
          }
        }
      }
      case Raw.Items(List<Raw> items, _) ->
          items.forEach(item -> put(labels, text(item, "a list of " + ITEM)));
      case Raw.Entries(Map<String, Raw> entries, _) ->
          entries.forEach((key, value) -> put(labels, key, text(value, "a value for " + key)));
    }
    return Collections.unmodifiableMap(labels);
  }

  private static String text(Raw raw, String expected) {
    if (raw instanceof Raw.Scalar(String text, _)) {
      return text;
    }
    throw new IllegalArgumentException(ValueTypes.shown(raw) + " (expected: " + expected + ")");
  }

  private static void put(Map<String, String> labels, String item) {
    int equals = item.indexOf('=');
    if (equals < 0) {
      throw wrong(item);
    }
    put(labels, item.substring(0, equals), item.substring(equals + 1));
  }

  private static void put(Map<String, String> labels, String key, String value) {
    String item = key + "=" + value;
    if (!LabelSyntax.isKey(key) || !LabelSyntax.isValue(value)) {
      throw wrong(item);
    }
    String before = labels.put(key, value);
    if (before != null && !before.equals(value)) {
      throw new IllegalArgumentException(
          item + " beside " + key + "=" + before + " (expected: each label once)");
    }
  }

  private static IllegalArgumentException wrong(String item) {
    return new IllegalArgumentException(
        (item.isEmpty() ? "nothing" : item)
            + " (expected: "
            + ITEM
            + ", with letters, digits and -_. in both)");
  }

  @Override
  public String format(Map<String, String> labels) {
    List<String> items = new ArrayList<>();
    new TreeMap<>(labels).forEach((key, value) -> items.add(ValueTypes.quoted(key + "=" + value)));
    return "[" + String.join(", ", items) + "]";
  }

  @Override
  public String expected() {
    return "a list of labels such as app=vllm, or a group of them";
  }

  @Override
  public String label() {
    return "<label>=<value>";
  }

  @Override
  public boolean repeatable() {
    return true;
  }
}
