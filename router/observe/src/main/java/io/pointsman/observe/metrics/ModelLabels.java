package io.pointsman.observe.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Maps the model in a request to a label from a limited set. Clients can therefore not create
 * series with invented names. The set contains the first {@code most} configured or served models,
 * and two more labels. Thread-safe; {@link #index} allocates nothing.
 */
final class ModelLabels {
  /** The label of a request without a model. */
  static final String NONE = "";

  /** The label of all models without their own label. */
  static final String OTHER = "other";

  private static final int NONE_INDEX = 0;
  private static final int OTHER_INDEX = 1;

  private final String[] labels;
  private final Map<String, Integer> indexes = new ConcurrentHashMap<>();

  /**
   * @param most maximum number of models with their own label; at least 0
   */
  ModelLabels(int most) {
    labels = new String[most + 2];
    labels[NONE_INDEX] = NONE;
    labels[OTHER_INDEX] = OTHER;
  }

  /** Gives labels to models that have none. */
  synchronized void add(Iterable<String> models) {
    for (String model : models) {
      int next = indexes.size() + 2;
      if (next < labels.length && !indexes.containsKey(model)) {
        labels[next] = model;
        indexes.put(model, next);
      }
    }
  }

  /** The index of the model's label, in {@code [0, size())}. */
  int index(@Nullable String model) {
    if (model == null) {
      return NONE_INDEX;
    }
    Integer index = indexes.get(model);
    return index == null ? OTHER_INDEX : index;
  }

  /** The indexes of all labels in use, except that of requests without a model. */
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
