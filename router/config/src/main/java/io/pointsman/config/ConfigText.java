package io.pointsman.config;

import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.Key;
import java.util.ArrayList;
import java.util.List;

/** Formats a configuration as a file that reads back to the same values, except masked secrets. */
public final class ConfigText {
  private ConfigText() {}

  /** All keys with their effective values, as YAML. */
  public static String of(ConfigValues values) {
    return text(values, ConfigKeys.all(), false);
  }

  /** The keys with other values than their defaults. */
  public static List<Key<?>> changed(ConfigValues values) {
    List<Key<?>> changed = new ArrayList<>();
    for (Key<?> key : ConfigKeys.all()) {
      if (!values.get(key).equals(key.defaultValue())) {
        changed.add(key);
      }
    }
    return changed;
  }

  /** The keys with other values than their defaults, as YAML with the defaults in comments. */
  public static String differences(ConfigValues values) {
    return text(values, changed(values), true);
  }

  private static String text(ConfigValues values, List<Key<?>> keys, boolean defaults) {
    StringBuilder out = new StringBuilder();
    String open = "";
    for (Key<?> key : keys) {
      int dot = key.path().indexOf('.');
      String group = dot < 0 ? "" : key.path().substring(0, dot);
      if (!group.equals(open) && !group.isEmpty()) {
        out.append(group).append(":\n");
      }
      open = group;
      out.append(group.isEmpty() ? "" : "  ").append(key.path().substring(dot + 1)).append(": ");
      out.append(value(key, values));
      out.append(defaults ? "  # default: " + standard(key) : "").append('\n');
    }
    return out.toString();
  }

  private static <T> String standard(Key<T> key) {
    return key.type().format(key.defaultValue());
  }

  private static <T> String value(Key<T> key, ConfigValues values) {
    T value = values.get(key);
    boolean hide = key.isSecret() && !value.equals(key.defaultValue());
    return hide ? "\"***\"" : Variables.escaped(key.type().format(value));
  }
}
