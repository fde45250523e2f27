package io.pointsman.config.settings;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The labels of the pods to find.
 *
 * @param labels permitted values by key. A pod must have each label with one of its values. An
 *     empty map finds no pod
 */
public record PodSelector(Map<String, Set<String>> labels) {
  public static final PodSelector NONE = new PodSelector(Map.of());

  /**
   * A selector with one value per label.
   *
   * @throws IllegalArgumentException if a label is invalid in Kubernetes
   */
  public static PodSelector of(Map<String, String> labels) {
    Map<String, Set<String>> sets = new TreeMap<>();
    labels.forEach((key, value) -> sets.put(key, Set.of(value)));
    return new PodSelector(sets);
  }

  public PodSelector {
    Map<String, Set<String>> sorted = new TreeMap<>();
    labels.forEach((key, values) -> sorted.put(key, checked(key, values)));
    labels = Collections.unmodifiableMap(sorted);
  }

  private static SortedSet<String> checked(String key, Set<String> values) {
    SortedSet<String> sorted = new TreeSet<>(values);
    boolean valid =
        LabelSyntax.isKey(key)
            && !sorted.isEmpty()
            && sorted.stream().allMatch(LabelSyntax::isValue)
            && (sorted.size() == 1 || !sorted.contains(""));
    if (!valid) {
      throw new IllegalArgumentException(
          requirement(key, sorted) + " (expected: label=value or label in (a, b))");
    }
    return Collections.unmodifiableSortedSet(sorted);
  }

  public boolean isEmpty() {
    return labels.isEmpty();
  }

  /** The requirement of each label: {@code app=vllm} or {@code role in (a,b)}. */
  public List<String> requirements() {
    return labels.entrySet().stream()
        .map(label -> requirement(label.getKey(), label.getValue()))
        .toList();
  }

  private static String requirement(String key, Set<String> values) {
    return values.size() == 1
        ? key + "=" + values.iterator().next()
        : key + " in (" + String.join(",", values) + ")";
  }

  /** The selector in the API's form. */
  @Override
  public String toString() {
    return String.join(",", requirements());
  }
}
