package io.pointsman.app.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Turns the model that a request names into a label from a bounded set: the names of models that
 * are configured or that the fleet serves, the first {@code most} of them, and two more. A client
 * can therefore not make series by inventing names. Safe for use by several threads; {@link #index}
 * allocates nothing.
 */
final class ModelLabels {
  /** The label of a request that names no model. */
  static final String NONE = "";

  /** The label of every model without a label of its own. */
  static final String OTHER = "other";

  private static final int NONE_INDEX = 0;
  private static final int OTHER_INDEX = 1;

  private final String[] labels;
  private final Map<String, Integer> indexes = new ConcurrentHashMap<>();

  /**
   * @param most models with a label of their own; at least 0
   */
  ModelLabels(int most) {
    labels = new String[most + 2];
    labels[NONE_INDEX] = NONE;
    labels[OTHER_INDEX] = OTHER;
  }

  /** Gives labels to models that have none yet; any thread. */
  synchronized void add(Iterable<String> models) {
    for (String model : models) {
      int next = indexes.size() + 2;
      if (next < labels.length && !indexes.containsKey(model)) {
        labels[next] = model;
        indexes.put(model, next);
      }
    }
  }

  /** The place of the model's label, in {@code [0, size())}. */
  int index(@Nullable String model) {
    if (model == null) {
      return NONE_INDEX;
    }
    Integer index = indexes.get(model);
    return index == null ? OTHER_INDEX : index;
  }

  /** The places of all labels that were given, but for that of requests that name no model. */
  List<Integer> named() {
    List<Integer> places = new ArrayList<>(indexes.values());
    places.add(OTHER_INDEX);
    return places;
  }

  String label(int index) {
    return labels[index];
  }

  int size() {
    return labels.length;
  }
}
