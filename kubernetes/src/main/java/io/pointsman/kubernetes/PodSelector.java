package io.pointsman.kubernetes;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The labels by which pods are found.
 *
 * @param labels by its key, the values of which a label must have one; a pod must carry all of
 *     them, and none at all finds no pod
 */
public record PodSelector(Map<String, Set<String>> labels) {
  public static final PodSelector NONE = new PodSelector(Map.of());

  /**
   * Labels that may have one value each.
   *
   * @throws IllegalArgumentException if one is no label of Kubernetes
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

  /** What is asked of each label: {@code app=vllm} or {@code role in (a,b)}. */
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

  /** As the API takes it. */
  @Override
  public String toString() {
    return String.join(",", requirements());
  }
}
