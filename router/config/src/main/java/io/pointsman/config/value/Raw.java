package io.pointsman.config.value;

import java.util.List;
import java.util.Map;

/** An unchecked value from a file or the command line. */
public sealed interface Raw {
  /** Position of the value, for example {@code router.yaml:12} or {@code --port}. */
  String where();

  /**
   * A single text.
   *
   * @param text the value without quotes
   */
  record Scalar(String text, String where) implements Raw {}

  /** A list. */
  record Items(List<Raw> items, String where) implements Raw {
    public Items {
      items = List.copyOf(items);
    }
  }

  /** Named values in the order of the file. */
  record Entries(Map<String, Raw> entries, String where) implements Raw {}
}
