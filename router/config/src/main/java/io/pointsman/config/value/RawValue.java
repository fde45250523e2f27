package io.pointsman.config.value;

import java.util.List;
import java.util.Map;

/** An unchecked value from a file or the command line. */
public sealed interface RawValue {
  /** Position of the value, for example {@code router.yaml:12} or {@code --port}. */
  String where();

  /**
   * A single text.
   *
   * @param text the value without quotes
   */
  record Scalar(String text, String where) implements RawValue {}

  /** A list. */
  record Items(List<RawValue> items, String where) implements RawValue {
    public Items {
      items = List.copyOf(items);
    }
  }

  /** Named values in the order of the file. */
  record Entries(Map<String, RawValue> entries, String where) implements RawValue {}
}
