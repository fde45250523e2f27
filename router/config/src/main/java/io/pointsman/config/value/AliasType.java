package io.pointsman.config.value;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Names of models by alias. A group maps each alias to a model. A list contains {@code alias=model}
 * items; a flag can contain several, separated by commas.
 */
public final class AliasType implements ValueType<Map<String, String>> {
  /** Maximum number of aliases. */
  private static final int MOST = 10_000;

  @Override
  public Map<String, String> read(RawValue raw) {
    Map<String, String> models = new LinkedHashMap<>();
    switch (raw) {
      case RawValue.Scalar scalar ->
          ValueTypes.commaSeparated(scalar).forEach(item -> put(models, text(item)));
      case RawValue.Items(List<RawValue> items, _) ->
          items.forEach(item -> put(models, text(item)));
      case RawValue.Entries(Map<String, RawValue> entries, _) ->
          entries.forEach((alias, model) -> put(models, alias, text(model)));
    }
    if (models.size() > MOST) {
      throw new IllegalArgumentException(
          models.size() + " aliases (expected: at most " + MOST + ")");
    }
    return Collections.unmodifiableMap(models);
  }

  private String text(RawValue raw) {
    if (raw instanceof RawValue.Scalar(String text, _) && !text.isBlank()) {
      return text.strip();
    }
    throw new IllegalArgumentException(ValueTypes.shown(raw) + " (expected: " + expected() + ")");
  }

  private void put(Map<String, String> models, String item) {
    int equals = item.indexOf('=');
    if (equals < 1 || equals == item.length() - 1) {
      throw new IllegalArgumentException(item + " (expected: " + expected() + ")");
    }
    put(models, item.substring(0, equals).strip(), item.substring(equals + 1).strip());
  }

  private static void put(Map<String, String> models, String alias, String model) {
    String before = models.put(alias, model);
    if (before != null && !before.equals(model)) {
      throw new IllegalArgumentException(
          alias + ": " + before + " and " + model + " (expected: each alias once)");
    }
  }

  @Override
  public String format(Map<String, String> models) {
    return models.entrySet().stream()
        .map(each -> ValueTypes.quoted(each.getKey()) + ": " + ValueTypes.quoted(each.getValue()))
        .collect(Collectors.joining(", ", "{", "}"));
  }

  @Override
  public String expected() {
    return "a group of alias: model, or a list of alias=model";
  }

  @Override
  public String label() {
    return "<alias>=<model>";
  }

  @Override
  public boolean repeatable() {
    return true;
  }
}
