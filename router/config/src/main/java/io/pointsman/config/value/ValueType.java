package io.pointsman.config.value;

/**
 * The type of a key's value: reads, formats and describes it.
 *
 * @param <T> type of the value in the program
 */
public interface ValueType<T> {
  /**
   * Parses a value.
   *
   * @throws IllegalArgumentException if it is invalid; the message is {@code value (expected: ...)}
   */
  T read(RawValue raw);

  /** The value as one line of YAML; {@link #read} restores it. */
  String format(T value);

  /** Description of valid values, with unit and range. */
  String expected();

  /** Placeholder for the value in usage texts. */
  String label();

  /** Value of a flag that is given without one; empty if the flag needs a value. */
  default String alone() {
    return "";
  }

  /** True if a flag can be repeated, each time with one or more values. */
  default boolean repeatable() {
    return false;
  }
}
