package io.pointsman.config.value;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** Finds the name nearest to a misspelt one. */
public final class Nearest {
  private Nearest() {}

  /**
   * The nearest of {@code names} by edit distance; empty if the distance exceeds a third of the
   * length, or 2 for short names.
   */
  public static Optional<String> to(String wrong, Collection<String> names) {
    int near = Math.max(2, wrong.length() / 3);
    return names.stream()
        .min(Comparator.comparingInt(name -> distance(wrong, name)))
        .filter(name -> distance(wrong, name) <= near);
  }

  /** {@code " (did you mean NAME?)"}, or nothing if no name is near. */
  public static String hint(String wrong, Collection<String> names) {
    return to(wrong, names).map(name -> " (did you mean " + name + "?)").orElse("");
  }

  /** Levenshtein distance: single-character insertions, deletions and replacements. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[b.length()];
  }
}
