package io.pointsman.config;

import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.Key;

/** Formats a configuration as a file that reads back to the same values, except masked secrets. */
public final class ConfigText {
  private ConfigText() {}

  /** All keys with their effective values, as YAML. */
  public static String of(ConfigValues values) {
    StringBuilder out = new StringBuilder();
    String open = "";
    for (Key<?> key : ConfigKeys.all()) {
      int dot = key.path().indexOf('.');
      String group = dot < 0 ? "" : key.path().substring(0, dot);
      if (!group.equals(open) && !group.isEmpty()) {
        out.append(group).append(":\n");
      }
      open = group;
      out.append(group.isEmpty() ? "" : "  ").append(key.path().substring(dot + 1)).append(": ");
      out.append(value(key, values)).append('\n');
    }
    return out.toString();
  }

  private static <T> String value(Key<T> key, ConfigValues values) {
    T value = values.get(key);
    boolean hide = key.isSecret() && !value.equals(key.defaultValue());
    return hide ? "\"***\"" : Variables.escaped(key.type().format(value));
  }
}
