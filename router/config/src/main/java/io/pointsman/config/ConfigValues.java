package io.pointsman.config;

import io.pointsman.config.key.Key;
import io.pointsman.config.value.InvalidItem;
import io.pointsman.config.value.RawValue;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/**
 * Values set for keys; all other keys have their defaults. Filled from the file and then the flags,
 * or by a launcher for another router. Not thread-safe.
 */
public final class ConfigValues {
  private final Map<Key<?>, Object> chosen = new HashMap<>();

  /** Flags with a secret as their value, which other users of the machine can see. */
  private final Set<String> exposed = new TreeSet<>();

  /** The value set for {@code key}, otherwise its default. */
  @SuppressWarnings("unchecked") // set and read store only values of the key's type
  public <T> T get(Key<T> key) {
    Object value = chosen.get(key);
    return value == null ? key.defaultValue() : (T) value;
  }

  /** Sets a value; replaces an earlier one. */
  public <T> ConfigValues set(Key<T> key, T value) {
    chosen.put(key, Objects.requireNonNull(value, key.path()));
    return this;
  }

  /**
   * Sets the value from its written form.
   *
   * @throws ConfigException if the value is invalid for this key
   */
  public <T> void read(Key<T> key, RawValue raw) {
    try {
      set(key, key.type().read(raw));
      if (key.isSecret() && raw.where().equals(key.flag()) && !get(key).equals("")) {
        exposed(key.flag());
      }
    } catch (IllegalArgumentException e) {
      String where = e instanceof InvalidItem item ? item.where() : raw.where();
      String name = where.equals(key.flag()) ? key.flag() : where + ": " + key.path();
      String separator = e.getMessage() != null && e.getMessage().startsWith("[") ? "" : ": ";
      throw new ConfigException(name + separator + e.getMessage());
    }
  }

  /** Records that a flag contains a secret. */
  public void exposed(String flag) {
    exposed.add(flag);
  }

  /** Flags with a secret as their value, in order of their names. */
  public List<String> exposedFlags() {
    return List.copyOf(exposed);
  }

  /** True if a value is set, even one equal to the default. */
  public boolean has(Key<?> key) {
    return chosen.containsKey(key);
  }

  /** Copies all values set in {@code other}; they replace earlier ones. */
  public ConfigValues setAll(ConfigValues other) {
    chosen.putAll(other.chosen);
    exposed.addAll(other.exposed);
    return this;
  }
}
