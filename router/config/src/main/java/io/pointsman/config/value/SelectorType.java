package io.pointsman.config.value;

import io.pointsman.config.settings.LabelSyntax;
import io.pointsman.config.settings.PodSelector;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A selector of pods by labels. A list contains {@code label=value} items, with one or two equals
 * signs as in Kubernetes, or {@code label in (a, b)}. A flag can contain several items, separated
 * by commas. A group maps each label to a value or a list of values.
 */
public final class SelectorType implements ValueType<PodSelector> {
  private static final String ITEM = "label=value";

  /** Commas outside parentheses. */
  private static final Pattern COMMA = Pattern.compile(",(?![^()]*\\))");

  private static final Pattern SET = Pattern.compile("([^\\s=]+)\\s+in\\s*\\(([^()]*)\\)");

  @Override
  public PodSelector read(RawValue raw) {
    Map<String, Set<String>> labels = new LinkedHashMap<>();
    switch (raw) {
      case RawValue.Scalar(String text, _) -> {
        for (String part : COMMA.split(text, -1)) {
          if (!part.isBlank()) {
            put(labels, part.strip());
          }
        }
      }
      case RawValue.Items(List<RawValue> items, _) ->
          items.forEach(item -> put(labels, text(item, "a list of " + ITEM)));
      case RawValue.Entries(Map<String, RawValue> entries, _) ->
          entries.forEach((key, value) -> put(labels, key, values(key, value)));
    }
    return new PodSelector(labels);
  }

  private static String text(RawValue raw, String expected) {
    if (raw instanceof RawValue.Scalar(String text, _)) {
      return text;
    }
    throw new IllegalArgumentException(ValueTypes.shown(raw) + " (expected: " + expected + ")");
  }

  private static Set<String> values(String key, RawValue raw) {
    String expected = "a value for " + key + ", or a list of them";
    if (raw instanceof RawValue.Items(List<RawValue> items, _) && !items.isEmpty()) {
      return items.stream()
          .map(item -> text(item, expected))
          .collect(Collectors.toCollection(LinkedHashSet::new));
    }
    return Set.of(text(raw, expected));
  }

  private static void put(Map<String, Set<String>> labels, String item) {
    Matcher set = SET.matcher(item);
    if (set.matches()) {
      Set<String> values = new LinkedHashSet<>();
      for (String value : set.group(2).split(",", -1)) {
        values.add(value.strip());
      }
      if (values.contains("")) {
        throw wrong(item);
      }
      put(labels, set.group(1), values);
      return;
    }
    int equals = item.indexOf('=');
    if (equals < 0) {
      throw wrong(item);
    }
    int value = item.startsWith("==", equals) ? equals + 2 : equals + 1;
    put(labels, item.substring(0, equals).strip(), Set.of(item.substring(value).strip()));
  }

  private static void put(Map<String, Set<String>> labels, String key, Set<String> values) {
    boolean several = values.size() > 1;
    for (String value : values) {
      boolean valid = LabelSyntax.isValue(value) && !(several && value.isEmpty());
      if (!valid || !LabelSyntax.isKey(key)) {
        throw wrong(key + "=" + value);
      }
    }
    Set<String> before = labels.put(key, values);
    if (before != null && !before.equals(values)) {
      throw new IllegalArgumentException(
          shown(key, values) + " beside " + shown(key, before) + " (expected: each label once)");
    }
  }

  private static String shown(String key, Set<String> values) {
    return new PodSelector(Map.of(key, values)).toString();
  }

  private static IllegalArgumentException wrong(String item) {
    return new IllegalArgumentException(
        (item.isEmpty() ? "missing" : item)
            + " (expected: "
            + ITEM
            + " or label in (a, b), with letters, digits and -_. in label and values)");
  }

  @Override
  public String format(PodSelector selector) {
    return selector.requirements().stream()
        .map(ValueTypes::quoted)
        .collect(Collectors.joining(", ", "[", "]"));
  }

  @Override
  public String expected() {
    return "a list of labels such as app=vllm or \"role in (a, b)\", or a group of them";
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
