package io.pointsman.bench.proxies;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/**
 * A figure that the router is to reach; all of them are in {@code targets.csv}.
 *
 * @param row what the table of targets calls it
 * @param atLeast whether more is better
 * @param limit of the figure, or of its ratio to the reference
 * @param reference another contender under the same workload; {@code @NAME}: itself under that
 *     workload; empty: none, the limit is absolute
 */
record Target(
    String row,
    String contender,
    String workload,
    Metric metric,
    boolean atLeast,
    double limit,
    String reference) {

  enum Verdict {
    REACHED,
    MISSED,
    NOT_MEASURED
  }

  /**
   * @param text for people: figure, limit, against what
   */
  record Outcome(Target target, Verdict verdict, String text) {}

  static List<Target> all() {
    try (InputStream in = Target.class.getResourceAsStream("targets.csv")) {
      if (in == null) {
        throw new IllegalStateException("targets.csv: missing");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .skip(1)
          .map(Target::parse)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Target parse(String line) {
    String[] cells = line.split(";", -1);
    if (cells.length != 7) {
      throw new IllegalArgumentException(line + " (expected: seven cells)");
    }
    return new Target(
        cells[0].strip(),
        cells[1].strip(),
        cells[2].strip(),
        Metric.valueOf(cells[3].strip()),
        switch (cells[4].strip()) {
          case "at least" -> true;
          case "at most" -> false;
          default -> throw new IllegalArgumentException(line + " (expected: at least, at most)");
        },
        Double.parseDouble(cells[5].strip()),
        cells[6].strip());
  }

  Outcome judge(Results results) {
    OptionalDouble own = results.median(workload, contender, metric);
    List<Measurement> runs = results.of(workload, contender);
    long failed = runs.stream().filter(run -> !run.valid()).count();
    String what = "%s, %s of %s".formatted(workload, metric.title(), contender);
    if (failed > 0) {
      String text = "%s: %d of %d runs do not count".formatted(what, failed, runs.size());
      return new Outcome(this, Verdict.MISSED, text);
    }
    if (own.isEmpty()) {
      return new Outcome(this, Verdict.NOT_MEASURED, what);
    }
    if (reference.isEmpty()) {
      return outcome(own.getAsDouble(), what, "");
    }
    OptionalDouble other =
        reference.startsWith("@")
            ? results.median(reference.substring(1), contender, metric)
            : results.median(workload, reference, metric);
    if (other.isEmpty()) {
      return new Outcome(this, Verdict.NOT_MEASURED, what + ": nothing of " + reference);
    }
    if (other.getAsDouble() <= 0) {
      // Added latencies are differences of two runs: below what the rig tells apart.
      String both =
          String.format(
              Locale.ROOT,
              "%s: %.4g against %.4g of %s, too little to compare",
              what,
              own.getAsDouble(),
              other.getAsDouble(),
              reference);
      return new Outcome(this, Verdict.NOT_MEASURED, both);
    }
    return outcome(own.getAsDouble() / other.getAsDouble(), what, " x " + reference);
  }

  private Outcome outcome(double figure, String what, String unit) {
    boolean reached = atLeast ? figure >= limit : figure <= limit;
    String text =
        String.format(
            Locale.ROOT,
            "%s: %.4g%s (target: at %s %s)",
            what,
            figure,
            unit,
            atLeast ? "least" : "most",
            limit);
    return new Outcome(this, reached ? Verdict.REACHED : Verdict.MISSED, text);
  }
}
