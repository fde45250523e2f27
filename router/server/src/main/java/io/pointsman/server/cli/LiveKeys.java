package io.pointsman.server.cli;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigText;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.RestartReasons;
import io.pointsman.config.key.Key;
import java.util.ArrayList;
import java.util.List;

/** The keys that a running router can change. */
final class LiveKeys {
  private LiveKeys() {}

  /**
   * True if a running router takes over the value of this key alone. If the value is invalid
   * without other keys: true if no reason against a change of the key is known.
   *
   * @param values the values of {@code present}
   * @param next has the new value
   */
  static <T> boolean canChange(
      PointsmanConfig present, ConfigValues values, Key<T> key, ConfigValues next) {
    try {
      ConfigValues changed = new ConfigValues().setAll(values).set(key, next.get(key));
      return present.canBecome(PointsmanConfig.from(changed));
    } catch (ConfigException e) {
      return RestartReasons.of(key) == null;
    }
  }

  /** Those keys of the values that differ from their defaults and need a restart. */
  static List<String> needRestart(ConfigValues values) {
    ConfigValues defaults = new ConfigValues();
    PointsmanConfig first = PointsmanConfig.from(defaults);
    List<String> fixed = new ArrayList<>();
    for (Key<?> key : ConfigText.changed(values)) {
      if (!canChange(first, defaults, key, values)) {
        fixed.add(key.path());
      }
    }
    return fixed;
  }
}
