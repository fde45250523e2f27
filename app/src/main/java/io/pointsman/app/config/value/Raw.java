package io.pointsman.app.config.value;

import java.util.List;
import java.util.Map;

/** A value as it was written, in a file or on the command line, before its key has judged it. */
public sealed interface Raw {
  /** Where it was written, such as {@code router.yaml:12} or {@code --port}. */
  String where();

  /**
   * One word or text.
   *
   * @param text as written, without quotes
   */
  record Scalar(String text, String where) implements Raw {}

  /** A list. */
  record Items(List<Raw> items, String where) implements Raw {
    public Items {
      items = List.copyOf(items);
    }
  }

  /** Named values, in the order in which they were written. */
  record Entries(Map<String, Raw> entries, String where) implements Raw {}
}
