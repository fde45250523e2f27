package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.config.value.Resolve;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.PeerLabels;
import io.pointsman.proxy.upstream.EngineTlsSettings;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A change of a worker's weight and labels, as the body of {@code PATCH /workers/{url}}. */
final class WorkerChange {
  private static final Set<String> MEMBERS = Set.of("weight", "labels");
  private static final int MOST_LABELS = 64;
  private static final int LONGEST = 256;

  /** Labels with a meaning for the router, which reads them when the worker is added. */
  private static final Set<String> FIXED = fixed();

  private final @Nullable Double weight;

  /** New values; null removes the label. */
  private final Map<String, @Nullable String> labels;

  private WorkerChange(@Nullable Double weight, Map<String, @Nullable String> labels) {
    this.weight = weight;
    this.labels = labels;
  }

  private static Set<String> fixed() {
    Set<String> names = new HashSet<>(PeerLabels.ALL);
    names.addAll(EngineTlsSettings.LABELS);
    names.addAll(
        List.of(
            WorkerSpec.NODE_LABEL,
            WorkerSpec.ZONE_LABEL,
            WorkerSpec.WEIGHT_LABEL,
            Resolve.LABEL,
            "health-request",
            "name",
            "pod",
            "service"));
    return Set.copyOf(names);
  }

  /**
   * Reads a change.
   *
   * @throws IllegalArgumentException with the reason, if it is none
   */
  static WorkerChange of(JsonNode body) {
    if (!body.isObject() || body.isEmpty()) {
      throw new IllegalArgumentException("body: (expected: a JSON object with weight or labels)");
    }
    Iterator<String> names = body.fieldNames();
    while (names.hasNext()) {
      String name = names.next();
      if (!MEMBERS.contains(name)) {
        throw new IllegalArgumentException(name + ": unknown (expected: weight or labels)");
      }
    }
    JsonNode weight = body.path("weight");
    if (!weight.isMissingNode() && !(weight.isNumber() && WorkerSpec.isWeight(weight.asDouble()))) {
      throw new IllegalArgumentException(WorkerSpec.problemOfWeight(weight));
    }
    Map<String, @Nullable String> labels = new HashMap<>();
    String problem = read(body.path("labels"), labels);
    for (String name : labels.keySet()) {
      if (isFixed(name)) {
        problem =
            "labels."
                + name
                + ": has a meaning for the router (expected: another label; remove the worker and"
                + " add it with this one)";
      }
    }
    if (problem != null) {
      throw new IllegalArgumentException(problem);
    }
    return new WorkerChange(weight.isMissingNode() ? null : weight.asDouble(), labels);
  }

  private static boolean isFixed(String name) {
    return FIXED.contains(name) || name.startsWith("kv-");
  }

  /** Adds the labels of a new worker to {@code into}; returns the problem, or null. */
  static @Nullable String addLabels(JsonNode labels, Map<String, String> into) {
    Map<String, @Nullable String> read = new HashMap<>();
    String problem = read(labels, read);
    read.forEach(
        (name, value) -> {
          if (value != null) {
            into.put(name, value);
          }
        });
    return problem;
  }

  private static @Nullable String read(JsonNode labels, Map<String, @Nullable String> into) {
    if (labels.isMissingNode() || labels.isNull()) {
      return null;
    }
    if (!labels.isObject() || labels.size() > MOST_LABELS) {
      return "labels: (expected: an object with at most " + MOST_LABELS + " names and texts)";
    }
    for (Map.Entry<String, JsonNode> each : labels.properties()) {
      JsonNode value = each.getValue();
      boolean text = value.isTextual() || value.isNumber() || value.isBoolean();
      boolean right = text && value.asText().length() <= LONGEST;
      if (!(right || value.isNull()) || each.getKey().length() > LONGEST) {
        return "labels."
            + each.getKey()
            + ": (expected: a text of at most "
            + LONGEST
            + " characters, or null)";
      }
      into.put(each.getKey(), value.isNull() ? null : value.asText());
    }
    return null;
  }

  /** The problem with the label for the weight; null if there is none. */
  static @Nullable String problemOfWeight(Map<String, String> labels) {
    String written = labels.get(WorkerSpec.WEIGHT_LABEL);
    try {
      return written == null || WorkerSpec.isWeight(Double.parseDouble(written))
          ? null
          : WorkerSpec.problemOfWeight(written);
    } catch (NumberFormatException _) {
      return WorkerSpec.problemOfWeight(written);
    }
  }

  /** Returns the problem of this change for a worker; null if it can be applied. */
  @Nullable String problem(Worker worker) {
    return changed(worker).size() > MOST_LABELS
        ? "labels: " + worker.id() + " would have more than " + MOST_LABELS
        : null;
  }

  private Map<String, String> changed(Worker worker) {
    Map<String, String> next = new HashMap<>(worker.labels());
    labels.forEach(
        (name, value) -> {
          if (value == null) {
            next.remove(name);
          } else {
            next.put(name, value);
          }
        });
    return next;
  }

  /** Applies the change. */
  void apply(Worker worker) {
    if (weight != null) {
      worker.weight(weight);
    }
    if (!labels.isEmpty()) {
      worker.labels(changed(worker));
    }
  }
}
