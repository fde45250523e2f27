package io.pointsman.app.compat;

import java.util.List;

/**
 * A flag as it was given, or as its default stands in the table.
 *
 * @param flag its usual spelling, for messages
 * @param values what followed it; empty for a switch
 */
public record Given(String flag, List<String> values) {
  public Given {
    values = List.copyOf(values);
  }

  /** The one value of a flag that takes one. */
  public String value() {
    return values.getLast();
  }
}
