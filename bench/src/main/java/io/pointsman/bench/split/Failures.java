package io.pointsman.bench.split;

import java.util.Map;
import java.util.TreeMap;

/**
 * Sessions that failed, by what they failed with. Has at most {@value #MOST_REASONS} reasons, and
 * counts what comes with further ones together. Safe for use by several threads.
 */
final class Failures {
  /** Reasons told apart at most. */
  static final int MOST_REASONS = 16;

  /** Stands for all reasons beyond these. */
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

  /** How many failed with each reason. */
  synchronized Map<String, Long> counts() {
    return Map.copyOf(counts);
  }
}
