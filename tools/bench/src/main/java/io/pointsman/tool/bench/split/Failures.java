package io.pointsman.tool.bench.split;

import java.util.Map;
import java.util.TreeMap;

/**
 * Counts of failed sessions by reason. It distinguishes at most {@value #MOST_REASONS} reasons and
 * counts further ones together. Thread-safe.
 */
final class Failures {
  /** Maximum number of distinguished reasons. */
  static final int MOST_REASONS = 16;

  /** Name of the count for all further reasons. */
  static final String OTHERS = "other reasons";

  private final Map<String, Long> counts = new TreeMap<>();

  synchronized void add(Exception failure) {
    String reason = reason(failure);
    boolean known = counts.containsKey(reason) || counts.size() < MOST_REASONS;
    counts.merge(known ? reason : OTHERS, 1L, Long::sum);
  }

  private static String reason(Exception failure) {
    Throwable cause = failure.getCause();
    Throwable root = cause == null ? failure : cause;
    String message = root.getMessage();
    String name = root.getClass().getSimpleName();
    return message == null ? name : name + ": " + message;
  }

  /** Number of failures per reason. */
  synchronized Map<String, Long> counts() {
    return Map.copyOf(counts);
  }
}
