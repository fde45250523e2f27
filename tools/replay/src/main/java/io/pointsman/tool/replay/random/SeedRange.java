package io.pointsman.tool.replay.random;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The seeds of {@code random:SEED} or {@code random:FROM-TO}.
 *
 * @param to the last one, at least {@code from}
 */
public record SeedRange(long from, long to) {
  private static final String PREFIX = "random:";
  private static final Pattern FORM = Pattern.compile("([0-9]{1,15})(?:-([0-9]{1,15}))?");
  private static final int MOST = 1_000_000;

  /** Returns true if the name of a trace requests random workloads. */
  public static boolean named(String trace) {
    return trace.startsWith(PREFIX);
  }

  /**
   * Parses a name that is {@link #named}.
   *
   * @throws IllegalArgumentException if it contains no valid seeds
   */
  public static SeedRange parse(String trace) {
    Matcher form = FORM.matcher(trace.substring(PREFIX.length()));
    if (form.matches()) {
      long from = Long.parseLong(form.group(1));
      long to = form.group(2) == null ? from : Long.parseLong(form.group(2));
      if (to >= from && to - from < MOST) {
        return new SeedRange(from, to);
      }
    }
    throw new IllegalArgumentException(
        "trace: %s (expected: random:SEED or random:FROM-TO, FROM not above TO, at most %d seeds)"
            .formatted(trace, MOST));
  }

  boolean single() {
    return from == to;
  }
}
