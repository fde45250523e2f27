package io.pointsman.config.value;

import io.pointsman.engine.fleet.WorkerSpec;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Keys by the URL of a worker. A group maps each URL to a key. A list contains {@code URL=key}
 * items; a flag can contain several, separated by commas. Messages show no key.
 */
public final class WorkerKeysType implements ValueType<Map<String, String>> {
  @Override
  public Map<String, String> read(RawValue raw) {
    Map<String, String> keys = new LinkedHashMap<>();
    switch (raw) {
      case RawValue.Scalar scalar ->
          ValueTypes.commaSeparated(scalar).forEach(item -> put(keys, text(item)));
      case RawValue.Items(List<RawValue> items, _) -> items.forEach(item -> put(keys, text(item)));
      case RawValue.Entries(Map<String, RawValue> entries, _) ->
          entries.forEach((url, key) -> put(keys, url, text(key)));
    }
    return Collections.unmodifiableMap(keys);
  }

  private String text(RawValue raw) {
    if (raw instanceof RawValue.Scalar(String text, _) && !text.isBlank()) {
      return text.strip();
    }
    throw new IllegalArgumentException("no text (expected: " + expected() + ")");
  }

  private void put(Map<String, String> keys, String item) {
    int equals = item.indexOf('=');
    if (equals < 1 || equals == item.length() - 1) {
      throw new IllegalArgumentException("an item without a key (expected: " + expected() + ")");
    }
    put(keys, item.substring(0, equals).strip(), item.substring(equals + 1).strip());
  }

  private static void put(Map<String, String> keys, String url, String key) {
    String trimmed = url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
    if (WorkerSpec.problemOfUrl(trimmed) != null) {
      throw new IllegalArgumentException(
          WorkerSpec.shown(url) + " (expected: the URL of a worker)");
    }
    if (keys.put(trimmed, key) != null) {
      throw new IllegalArgumentException(url + ": twice (expected: each URL once)");
    }
  }

  @Override
  public String format(Map<String, String> keys) {
    return keys.entrySet().stream()
        .map(each -> ValueTypes.quoted(each.getKey()) + ": " + ValueTypes.quoted(each.getValue()))
        .collect(Collectors.joining(", ", "{", "}"));
  }

  @Override
  public String expected() {
    return "a group of URL: key, or a list of URL=key";
  }

  @Override
  public String label() {
    return "<url>=<key>";
  }

  @Override
  public boolean repeatable() {
    return true;
  }
}
