package io.pointsman.app.config.value;

/**
 * What the value of a key may be: how it is read, written and described.
 *
 * @param <T> the value in the program
 */
public interface ValueType<T> {
  /**
   * The value that was written.
   *
   * @throws IllegalArgumentException if it is none; the message is {@code value (expected: ...)}
   */
  T read(Raw raw);

  /** The value on one line of YAML; {@link #read} gives the same value back. */
  String format(T value);

  /** What may be written, in words, with unit and range. */
  String expected();

  /** A placeholder for the value in usage texts. */
  String label();

  /** What a flag means that is given without a value; empty if it needs one. */
  default String alone() {
    return "";
  }

  /** Whether a flag may be given several times, each time with one or more values. */
  default boolean repeatable() {
    return false;
  }
}
