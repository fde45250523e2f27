package io.pointsman.tool.bench.proxies;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/**
 * A performance target of the router; {@code targets.csv} contains all of them.
 *
 * @param row name in the table of targets
 * @param atLeast true if larger values are better
 * @param limit limit of the metric, or of its ratio to the reference
 * @param reference another contender under the same workload; {@code @NAME}: the contender itself
 *     under that workload; empty: the limit is absolute
 */
record PerformanceTarget(
    String row,
    String contender,
    String workload,
    MeasuredMetric metric,
    boolean atLeast,
    double limit,
    String reference) {

  private static final String DIRECT = "direct";

  enum Verdict {
    REACHED,
    MISSED,
    /** Too few events arrived, but "direct" has the same problem: the machine is the limit. */
    BEYOND_RIG,
    /** The router's runs count, but none of the reference's runs does. */
    REFERENCE_INVALID,
    NOT_MEASURED;

    /** True if {@code --check} fails: the target was measured and not reached. */
    boolean fails() {
      return this != REACHED && this != NOT_MEASURED;
    }

    String title() {
      return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  /**
   * Result of a target.
   *
   * @param text description with value, limit and reference
   */
  record TargetResult(PerformanceTarget target, Verdict verdict, String text) {}

  static List<PerformanceTarget> all() {
    try (InputStream in = PerformanceTarget.class.getResourceAsStream("targets.csv")) {
      if (in == null) {
        throw new IllegalStateException("targets.csv: missing");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .skip(1)
          .map(PerformanceTarget::parse)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static PerformanceTarget parse(String line) {
    String[] cells = line.split(";", -1);
    if (cells.length != 7) {
      throw new IllegalArgumentException(line + " (expected: seven cells)");
    }
    return new PerformanceTarget(
        cells[0].strip(),
        cells[1].strip(),
        cells[2].strip(),
        MeasuredMetric.valueOf(cells[3].strip()),
        switch (cells[4].strip()) {
          case "at least" -> true;
          case "at most" -> false;
          default -> throw new IllegalArgumentException(line + " (expected: at least, at most)");
        },
        Double.parseDouble(cells[5].strip()),
        cells[6].strip());
  }

  TargetResult judge(Results results) {
    OptionalDouble own = results.median(workload, contender, metric);
    List<Measurement> runs = results.of(workload, contender);
    String what = "%s, %s of %s".formatted(workload, metric.title(), contender);
    if (!runs.stream().allMatch(Measurement::valid)) {
      return failed(what, runs, results.of(workload, DIRECT));
    }
    if (own.isEmpty()) {
      // A difference to "direct" has no value without "direct".
      return metric.addedTo() == null || runs.isEmpty()
          ? new TargetResult(this, Verdict.NOT_MEASURED, what)
          : without(DIRECT, results.of(workload, DIRECT), what);
    }
    if (reference.isEmpty()) {
      return outcome(own.getAsDouble(), what, "");
    }
    boolean itself = reference.startsWith("@");
    String otherWorkload = itself ? reference.substring(1) : workload;
    String otherContender = itself ? contender : reference;
    OptionalDouble other = results.median(otherWorkload, otherContender, metric);
    List<Measurement> otherRuns = results.of(otherWorkload, otherContender);
    if (other.isEmpty()) {
      return without(reference, otherRuns, what);
    }
    if (other.getAsDouble() <= 0) {
      // Differences of two runs can be 0 or less; a ratio has no meaning then.
      String both =
          String.format(
              Locale.ROOT,
              "%s: %.4g against %.4g of %s, too little to compare",
              what,
              own.getAsDouble(),
              other.getAsDouble(),
              reference);
      return new TargetResult(this, Verdict.NOT_MEASURED, both);
    }
    return outcome(
        own.getAsDouble() / other.getAsDouble(), what, " x " + reference + counting(otherRuns));
  }

  /** Result without a reference: it did not run, or none of its runs counts. */
  private TargetResult without(String missing, List<Measurement> runs, String what) {
    if (runs.isEmpty()) {
      return new TargetResult(this, Verdict.NOT_MEASURED, what + ": nothing of " + missing);
    }
    String text =
        "%s: the reference's own run failed: %s: %s"
            .formatted(what, missing, runs.getFirst().problemLine());
    return new TargetResult(this, Verdict.REFERENCE_INVALID, text);
  }

  /** Number of counting runs of a reference, if not all count; otherwise empty. */
  private static String counting(List<Measurement> runs) {
    long valid = runs.stream().filter(Measurement::valid).count();
    return valid == runs.size() ? "" : " (runs that count: %d of %d)".formatted(valid, runs.size());
  }

  private TargetResult failed(String what, List<Measurement> runs, List<Measurement> direct) {
    List<Measurement> failed = runs.stream().filter(run -> !run.valid()).toList();
    String text =
        "%s: %d of %d runs do not count: %s"
            .formatted(what, failed.size(), runs.size(), failed.getFirst().problemLine());
    boolean onlyBehind = failed.stream().allMatch(run -> run.error().isEmpty());
    if (!onlyBehind || !isRigBehind(direct)) {
      return new TargetResult(this, Verdict.MISSED, text);
    }
    String rig =
        direct.stream().filter(Measurement::isBehind).findFirst().orElseThrow().problemLine();
    return new TargetResult(this, Verdict.BEYOND_RIG, text + "; direct itself: " + rig);
  }

  /**
   * True if the test rig itself was behind in at least half of its runs.
   *
   * @param runs runs of {@code direct}; other contenders do not show the state of the rig
   */
  static boolean isRigBehind(List<Measurement> runs) {
    long behind =
        runs.stream().filter(run -> run.contender().equals(DIRECT) && run.isBehind()).count();
    return behind > 0 && 2 * behind >= runs.size();
  }

  private TargetResult outcome(double figure, String what, String unit) {
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
    return new TargetResult(this, reached ? Verdict.REACHED : Verdict.MISSED, text);
  }
}
