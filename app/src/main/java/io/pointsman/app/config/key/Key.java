package io.pointsman.app.config.key;

import io.pointsman.app.config.value.ValueType;

/**
 * One thing that can be configured: in the file at {@link #path}, on the command line with {@link
 * #flag}.
 *
 * @param <T> the value in the program
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
   * @param path groups and name, separated by dots; the flag is the same with hyphens
   * @param meaning what it decides, one sentence
   * @param extremes what happens when it is very small, very large or off
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

  /** This key with a flag of its own. */
  Key<T> flag(String flag) {
    return new Key<>(draft(), flag, secret);
  }

  /** This key as one whose value is never shown. */
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

  /** Whether the value is a secret, never to be shown. */
  public boolean isSecret() {
    return secret;
  }

  @Override
  public String toString() {
    return path;
  }
}
