package io.pointsman.engine.fleet;

import java.util.HashSet;
import java.util.Set;

/**
 * Which models a worker serves.
 *
 * @param names as configured or learned, adapters included; empty while not known or not told
 * @param bases those of them that are no adapters of others, so that they say what the engine
 *     computes with; empty only if {@code names} is
 * @param any whether it does not tell its models although it is well: it is taken to serve any
 */
public record ServedModels(Set<String> names, Set<String> bases, boolean any) {
  /** Separates the base model's name from the adapter's. */
  private static final char SEPARATOR = ':';

  static final ServedModels UNKNOWN = configured(Set.of());

  public ServedModels {
    names = Set.copyOf(names);
    bases = Set.copyOf(bases);
  }

  /** What is said of a worker before it is asked. */
  static ServedModels configured(Set<String> names) {
    return new ServedModels(names, bases(names, Set.of()), false);
  }

  /**
   * What a worker says, of which it is not known which are adapters: {@code base:adapter} is one
   * where {@code base} is served too.
   *
   * @param names empty if it does not tell
   */
  public static ServedModels told(Set<String> names) {
    return told(names, Set.of());
  }

  /**
   * What a worker says.
   *
   * @param names empty if it does not tell
   * @param adapters those of them that it says are adapters; others may be by their names
   */
  public static ServedModels told(Set<String> names, Set<String> adapters) {
    return new ServedModels(names, bases(names, adapters), names.isEmpty());
  }

  private static Set<String> bases(Set<String> names, Set<String> adapters) {
    Set<String> bases = new HashSet<>(names);
    bases.removeAll(adapters);
    bases.removeIf(
        name -> {
          int end = name.indexOf(SEPARATOR);
          return end > 0 && names.contains(name.substring(0, end));
        });
    return bases.isEmpty() ? names : bases;
  }

  /** Whether it is known what the worker serves, be it any model. */
  public boolean known() {
    return any || !names.isEmpty();
  }
}
