package io.pointsman.tool.replay.random;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The seeds of {@code random:SEEDS}: single seeds and ranges {@code FROM-TO}, separated by commas.
 *
 * @param seeds in the given order, each once; at least one
 */
public record SeedList(List<Long> seeds) {
  private static final String PREFIX = "random:";
  private static final Pattern ITEM = Pattern.compile("([0-9]{1,15})(?:-([0-9]{1,15}))?");
  private static final int MOST = 1_000_000;

  public SeedList {
    seeds = List.copyOf(seeds);
  }

  /** Returns true if the name of a trace requests random workloads. */
  public static boolean named(String trace) {
    return trace.startsWith(PREFIX);
  }

  /**
   * Parses a name that is {@link #named}.
   *
   * @throws IllegalArgumentException if it contains no valid seeds
   */
  public static SeedList parse(String trace) {
    Set<Long> seeds = new LinkedHashSet<>();
    for (String item : trace.substring(PREFIX.length()).split(",", -1)) {
      Matcher form = ITEM.matcher(item);
      if (!form.matches()) {
        throw wrong(trace);
      }
      long from = Long.parseLong(form.group(1));
      long to = form.group(2) == null ? from : Long.parseLong(form.group(2));
      if (to < from || to - from >= MOST - seeds.size()) {
        throw wrong(trace);
      }
      for (long seed = from; seed <= to; seed++) {
        if (!seeds.add(seed)) {
          throw new IllegalArgumentException(
              "trace: %s: seed %d occurs twice (expected: each seed once)".formatted(trace, seed));
        }
      }
    }
    return new SeedList(List.copyOf(seeds));
  }

  private static IllegalArgumentException wrong(String trace) {
    return new IllegalArgumentException(
        ("trace: %s (expected: random:SEED, random:FROM-TO, or several of these with commas:"
                + " random:1-10,21; FROM not above TO, at most %d seeds)")
            .formatted(trace, MOST));
  }

  boolean single() {
    return seeds.size() == 1;
  }
}
