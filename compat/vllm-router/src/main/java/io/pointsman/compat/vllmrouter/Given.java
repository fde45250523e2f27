package io.pointsman.compat.vllmrouter;

import java.util.List;

/**
 * A flag with its values, from the command line or from its default.
 *
 * @param flag usual spelling, for messages
 * @param values values of the flag; empty for a switch
 */
public record Given(String flag, List<String> values) {
  public Given {
    values = List.copyOf(values);
  }

  /** The last value. */
  public String value() {
    return values.getLast();
  }
}
