package io.pointsman.engine.fleet;

import java.util.Set;

/**
 * Which models a worker serves.
 *
 * @param names as configured or learned; empty while not known or not told
 * @param any whether it does not tell its models although it is well: it is taken to serve any
 */
public record ServedModels(Set<String> names, boolean any) {
  static final ServedModels UNKNOWN = new ServedModels(Set.of(), false);

  public ServedModels {
    names = Set.copyOf(names);
  }

  /**
   * What a worker says.
   *
   * @param names empty if it does not tell
   */
  public static ServedModels told(Set<String> names) {
    return new ServedModels(names, names.isEmpty());
  }

  /** Whether it is known what the worker serves, be it any model. */
  public boolean known() {
    return any || !names.isEmpty();
  }
}
