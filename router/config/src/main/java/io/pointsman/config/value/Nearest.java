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

  /**
   * Optimal string alignment distance: insertions, deletions and replacements of one character, and
   * swaps of two neighbours.
   */
  private static int distance(String a, String b) {
    int[][] edits = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      edits[i][0] = i;
    }
    for (int j = 0; j <= b.length(); j++) {
      edits[0][j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      for (int j = 1; j <= b.length(); j++) {
        int replaced = edits[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        int least = Math.min(replaced, Math.min(edits[i - 1][j], edits[i][j - 1]) + 1);
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          least = Math.min(least, edits[i - 2][j - 2] + 1);
        }
        edits[i][j] = least;
      }
    }
    return edits[a.length()][b.length()];
  }
}
