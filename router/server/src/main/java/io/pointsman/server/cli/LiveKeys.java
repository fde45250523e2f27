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

  /**
   * The changed keys that a running router does not take over, each alone, or with the other
   * changes: without the change of such a key, the router can take over the rest.
   *
   * @param values the values of {@code present}
   * @param next has the new values
   */
  static List<Key<?>> fixed(
      PointsmanConfig present, ConfigValues values, List<Key<?>> changed, ConfigValues next) {
    List<Key<?>> fixed = new ArrayList<>();
    List<Key<?>> others = new ArrayList<>();
    ConfigValues rest = next;
    for (Key<?> key : changed) {
      if (canChange(present, values, key, next)) {
        others.add(key);
      } else {
        fixed.add(key);
        rest = withoutChange(rest, values, key);
      }
    }
    try {
      if (present.canBecome(PointsmanConfig.from(rest))) {
        return fixed;
      }
    } catch (ConfigException e) {
      // The other changes need one that is refused, so nothing more is known of them.
      return fixed;
    }
    for (Key<?> key : others) {
      if (isLive(present, withoutChange(rest, values, key))) {
        fixed.add(key);
      }
    }
    return fixed;
  }

  private static <T> ConfigValues withoutChange(
      ConfigValues next, ConfigValues values, Key<T> key) {
    return new ConfigValues().setAll(next).set(key, values.get(key));
  }

  /** True if the values are valid and a running router can take them over. */
  private static boolean isLive(PointsmanConfig present, ConfigValues next) {
    try {
      return present.canBecome(PointsmanConfig.from(next));
    } catch (ConfigException e) {
      return false;
    }
  }

  /**
   * Those keys of the values that differ from their defaults and need a restart, with the other
   * defaults or with the other values.
   */
  static List<String> needRestart(ConfigValues values) {
    ConfigValues defaults = new ConfigValues();
    PointsmanConfig first = PointsmanConfig.from(defaults);
    PointsmanConfig own = PointsmanConfig.from(values);
    List<String> fixed = new ArrayList<>();
    for (Key<?> key : ConfigText.changed(values)) {
      if (!canChange(first, defaults, key, values) || !canChange(own, values, key, defaults)) {
        fixed.add(key.path());
      }
    }
    return fixed;
  }
}
