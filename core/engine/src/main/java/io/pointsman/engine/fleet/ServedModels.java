package io.pointsman.engine.fleet;

import java.util.HashSet;
import java.util.Set;

/**
 * The models that a worker serves.
 *
 * @param names configured or reported names, including adapters; empty if unknown or not reported
 * @param bases the names that are not adapters of others, which identify the model weights; empty
 *     only if {@code names} is
 * @param any true if a healthy worker reports no models; it is assumed to serve any
 */
public record ServedModels(Set<String> names, Set<String> bases, boolean any) {
  /** Separates the base model's name from the adapter's. */
  private static final char SEPARATOR = ':';

  static final ServedModels UNKNOWN = configured(Set.of());

  public ServedModels {
    names = Set.copyOf(names);
    bases = Set.copyOf(bases);
  }

  /** The configured models of a worker that has not been queried yet. */
  static ServedModels configured(Set<String> names) {
    return new ServedModels(names, bases(names, Set.of()), false);
  }

  /**
   * The models that a worker reports without marking adapters. {@code base:adapter} counts as an
   * adapter if {@code base} is served too.
   *
   * @param names empty if the worker reports none
   */
  public static ServedModels reported(Set<String> names) {
    return reported(names, Set.of());
  }

  /**
   * The models that a worker reports.
   *
   * @param names empty if the worker reports none
   * @param adapters the names that it marks as adapters; others may count as adapters by their form
   */
  public static ServedModels reported(Set<String> names, Set<String> adapters) {
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

  /** Returns true if the worker's models are known, or any model is assumed. */
  public boolean known() {
    return any || !names.isEmpty();
  }
}
