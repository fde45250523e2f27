package io.pointsman.config.settings;

import io.pointsman.engine.fleet.WorkerSpec;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The label of a worker with the real requests that probe it: {@code chat}, or {@code
 * chat:model,embeddings:other} for a worker with several models.
 */
public final class HealthRequestLabel {
  /** Name of the label. */
  public static final String NAME = "health-request";

  /** Kind of a request. */
  public enum Kind {
    CHAT,
    COMPLETION,
    EMBEDDINGS,
    RERANK,
    SCORE,
    TRANSCRIPTION,
    VISION,
    MESSAGES
  }

  private HealthRequestLabel() {}

  /** The names of all kinds. */
  public static List<String> kinds() {
    return Arrays.stream(Kind.values()).map(HealthRequestLabel::name).toList();
  }

  private static String name(Kind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }

  /** The label's value for these kinds by model. */
  public static String value(Map<String, Set<String>> kindsByModel) {
    return new TreeSet<>(kindsByModel.keySet())
        .stream()
            .flatMap(
                model ->
                    kindsByModel.getOrDefault(model, Set.of()).stream()
                        .sorted()
                        .map(kind -> kind + ":" + model))
            .collect(Collectors.joining(","));
  }

  /**
   * The kinds of requests by model; empty without the label.
   *
   * @throws IllegalArgumentException if the label is invalid
   */
  public static Map<String, Set<Kind>> of(WorkerSpec worker) {
    String label = worker.labels().getOrDefault(NAME, "");
    Map<String, Set<Kind>> kinds = new LinkedHashMap<>();
    for (String item : label.split(",", -1)) {
      if (item.isBlank()) {
        continue;
      }
      int colon = item.indexOf(':');
      Kind kind = kind((colon < 0 ? item : item.substring(0, colon)).strip());
      Set<String> models = colon < 0 ? worker.models() : Set.of(item.substring(colon + 1).strip());
      if (!worker.models().containsAll(models) || models.isEmpty()) {
        throw new IllegalArgumentException(
            NAME + ": " + item + " (expected: a model of the worker)");
      }
      models.forEach(model -> kinds.computeIfAbsent(model, _ -> new LinkedHashSet<>()).add(kind));
    }
    return kinds;
  }

  private static Kind kind(String name) {
    for (Kind kind : Kind.values()) {
      if (name(kind).equals(name)) {
        return kind;
      }
    }
    throw new IllegalArgumentException(
        NAME + ": " + name + " (expected: one of " + String.join(", ", kinds()) + ")");
  }
}
