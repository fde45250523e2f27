package io.pointsman.config.key;

import io.pointsman.config.value.ValueType;

/**
 * A configuration key: {@link #path} in the file, {@link #flag} on the command line.
 *
 * @param <T> type of the value in the program
 */
public final class Key<T> {
  private final String path;
  private final String flag;
  private final ValueType<T> type;
  private final T defaultValue;
  private final String meaning;
  private final String extremes;
  private final boolean secret;

  private Key(Key.Draft<T> draft, String flag, boolean secret) {
    path = draft.path;
    this.flag = flag;
    type = draft.type;
    defaultValue = draft.defaultValue;
    meaning = draft.meaning;
    extremes = draft.extremes;
    this.secret = secret;
  }

  /**
   * @param path groups and name, separated by dots; the flag has hyphens instead
   * @param meaning the key's meaning, one sentence
   * @param extremes effect of very small, very large or disabling values
   */
  static <T> Key<T> of(
      String path, ValueType<T> type, T defaultValue, String meaning, String extremes) {
    return new Key<>(
        new Draft<>(path, type, defaultValue, meaning, extremes),
        "--" + path.replace('.', '-'),
        false);
  }

  private record Draft<T>(
      String path, ValueType<T> type, T defaultValue, String meaning, String extremes) {}

  private Draft<T> draft() {
    return new Draft<>(path, type, defaultValue, meaning, extremes);
  }

  /** A copy of this key with another flag. */
  Key<T> flag(String flag) {
    return new Key<>(draft(), flag, secret);
  }

  /** A copy of this key with a value that is never printed. */
  Key<T> secret() {
    return new Key<>(draft(), flag, true);
  }

  public String path() {
    return path;
  }

  public String flag() {
    return flag;
  }

  public ValueType<T> type() {
    return type;
  }

  public T defaultValue() {
    return defaultValue;
  }

  public String meaning() {
    return meaning;
  }

  public String extremes() {
    return extremes;
  }

  /** True if the value must not be printed. */
  public boolean isSecret() {
    return secret;
  }

  @Override
  public String toString() {
    return path;
  }
}
