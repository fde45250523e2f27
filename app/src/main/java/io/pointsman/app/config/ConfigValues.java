package io.pointsman.app.config;

import io.pointsman.app.config.key.Key;
import io.pointsman.app.config.value.Raw;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The values that were chosen for keys; every other key has its default. Filled by the file, then
 * by the flags, or by a launcher that speaks another router's flags; not thread-safe.
 */
public final class ConfigValues {
  private final Map<Key<?>, Object> chosen = new HashMap<>();

  /** The value of {@code key}: the chosen one, else the default. */
  @SuppressWarnings("unchecked") // set and read put only values of the key's type
  public <T> T get(Key<T> key) {
    Object value = chosen.get(key);
    return value == null ? key.defaultValue() : (T) value;
  }

  /** Chooses a value, over one chosen before. */
  public <T> ConfigValues set(Key<T> key, T value) {
    chosen.put(key, Objects.requireNonNull(value, key.path()));
    return this;
  }

  /**
   * Chooses the value that was written.
   *
   * @throws ConfigException if it is none for this key
   */
  public <T> void read(Key<T> key, Raw raw) {
    try {
      set(key, key.type().read(raw));
    } catch (IllegalArgumentException e) {
      String name = raw.where().equals(key.flag()) ? key.flag() : raw.where() + ": " + key.path();
      String separator = e.getMessage() != null && e.getMessage().startsWith("[") ? "" : ": ";
      throw new ConfigException(name + separator + e.getMessage());
    }
  }

  /** Whether a value was chosen, be it equal to the default. */
  public boolean has(Key<?> key) {
    return chosen.containsKey(key);
  }

  /** Copies everything that was chosen in {@code other} over this. */
  public ConfigValues setAll(ConfigValues other) {
    chosen.putAll(other.chosen);
    return this;
  }
}
