package io.pointsman.tool.bench.chaos;

import io.pointsman.tool.bench.plot.LinePlot;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Results of a run, with the decision if the target is reached. */
public final class ChaosReport {
  private final ChaosRun.Setup setup;
  private final double seconds;
  private final List<Strikes.Strike> strikes;
  private final Witness witness;
  private final ResultTally tally;
  private final List<Sample> samples;
  private final RouterUnderTest.Metrics metrics;
  private final String log;

  /** Shorter runs may miss a kind of fault. */
  private static final int ALL_KINDS_SECONDS = 60;

  /**
   * Figures that engines and router report.
   *
   * @param cutOnEngines requests that engines cut, stalled or garbled, by the engines' count
   * @param availability workers available to the router throughout the run
   * @param leftInFlight requests that the router or an engine still counts after the run
   * @param leftOpen descriptors of the router after the run, minus those before it
   * @param losses engines lost to poisons; null if the run had none
   */
  record Witness(
      long cutOnEngines,
      Availability availability,
      int leftInFlight,
      int leftOpen,
      Hostile.@Nullable Losses losses) {}

  /** Maximum number of engines that one request may end. */
  private static final int MOST_LOST = 2;

  /** Tolerance in descriptors, for the connections of health probes. */
  static final int OPEN_SLACK = 8;

  /**
   * Creates the report of a run.
   *
   * @param strikes the faults of the run; all have started
   * @param log output of the router process
   */
  ChaosReport(
      ChaosRun.Setup setup,
      double seconds,
      List<Strikes.Strike> strikes,
      Witness witness,
      ResultTally tally,
      List<Sample> samples,
      RouterUnderTest.Metrics metrics,
      String log) {
    this.setup = setup;
    this.seconds = seconds;
    this.strikes = strikes;
    this.witness = witness;
    this.tally = tally;
    this.samples = List.copyOf(samples);
    this.metrics = metrics;
    this.log = log;
  }

  /**
   * True if the run reaches its target and exercises the faults.
   *
   * <p>The target: clients see complete responses, and streams that an engine cut and that end with
   * an error event. Their number is at most the number that engines count as cut. The router has an
   * available worker at every poll. After the run no request is in flight and no connection remains
   * open.
   *
   * <p>The run is not valid evidence if engines cut nothing, or if polls are rarer than faults.
   * From 60 s on, each kind of fault must occur.
   *
   * <p>In a hostile run, no request may end more than two engines, and some must have ended one.
   */
  public boolean reached() {
    Map<End, Integer> ends = tally.ends();
    return witness.leftInFlight() == 0
        && witness.leftOpen() <= OPEN_SLACK
        && witness.availability().least() > 0
        && witness.availability().looks() > strikes.size()
        && ends.getOrDefault(End.SERVED, 0) > 0
        && witness.cutOnEngines() > 0
        && cutStreams() <= witness.cutOnEngines()
        && (setup.hostile()
            || setup.seconds() < ALL_KINDS_SECONDS
            || byFault().size() == ChaosFault.values().length)
        && mostLost() <= MOST_LOST
        && (!setup.hostile() || lost() > 0)
        && ends.keySet().stream().allMatch(End::allowed);
  }

  /** Largest number of engines that one request has ended. */
  public int mostLost() {
    Hostile.Losses losses = witness.losses();
    return losses == null ? 0 : losses.most();
  }

  /** Number of times that requests have ended an engine. */
  public int lost() {
    Hostile.Losses losses = witness.losses();
    return losses == null ? 0 : losses.engines();
  }

  /** Streams that ended with an error event while a fault affected their worker. */
  public int cutStreams() {
    return ended(End.STREAM_ENDED_WITH_ERROR.name()) + ended(End.STREAM_ENDED_AT_ITS_HEAD.name());
  }

  /**
   * Requests that engines cut, stalled or garbled, by the engines' count; upper bound of {@link
   * #cutStreams}.
   */
  public long cutOnEngines() {
    return witness.cutOnEngines();
  }

  /**
   * Number of requests with the given result.
   *
   * @param end name of a constant of {@link End}
   */
  public int ended(String end) {
    return tally.ends().getOrDefault(End.valueOf(end), 0);
  }

  /** Smallest number of available workers of all polls. */
  public int leastAvailable() {
    return witness.availability().least();
  }

  public int strikes() {
    return strikes.size();
  }

  public int leftInFlight() {
    return witness.leftInFlight();
  }

  /** Descriptors of the router after the run, minus those before it; at least 0. */
  public int leftOpen() {
    return witness.leftOpen();
  }

  List<Sample> samples() {
    return samples;
  }

  /** The report as Markdown. */
  public String markdown() {
    StringBuilder out = new StringBuilder();
    line(
        out,
        "%d engines, %d requests a second for %d s (%.0f s to the end of the last), seed %d; %d"
            + " faults, %d requests, %d of them streams; load average %s.%n",
        setup.engines(),
        setup.rate(),
        setup.seconds(),
        seconds,
        setup.seed(),
        strikes.size(),
        tally.requests(),
        tally.streams(),
        load());
    line(out, "| how a request ended | requests | within the target |%n|---|---:|---|");
    Map<End, Integer> ends = tally.ends();
    for (End end : End.values()) {
      line(
          out,
          "| %s | %,d | %s |",
          end.meaning(),
          ends.getOrDefault(end, 0),
          end.allowed() ? "yes" : "no");
    }
    line(out, "%n| fault | times | seconds in all |%n|---|---:|---:|");
    byFault()
        .forEach(
            (fault, figures) ->
                line(
                    out,
                    "| %s | %d | %.0f |",
                    fault.name().toLowerCase(Locale.ROOT),
                    figures[0],
                    figures[1] / 1e3));
    line(
        out,
        "%nRequests that engines cut, stalled or garbled, by their own count: %,d. Workers that the"
            + " router had available, at least: %d (%,d looks, the longest time between two %d ms)."
            + " In flight at the end: %d; descriptors more than"
            + " before: %d. Answers that are no streams: p50 %.0f ms, p99 %.0f ms, p99.9 %.0f ms."
            + " Retries by reason: %s. Target %s.",
        witness.cutOnEngines(),
        witness.availability().least(),
        witness.availability().looks(),
        witness.availability().longestGapMillis(),
        witness.leftInFlight(),
        witness.leftOpen(),
        tally.wholeMillis(50),
        tally.wholeMillis(99),
        tally.wholeMillis(99.9),
        metrics.byLabels("pointsman_retries_total"),
        reached() ? "reached" : "missed");
    Hostile.Losses losses = witness.losses();
    if (losses != null) {
      line(
          out,
          "%nRequests that end engines: %d. Engines that they ended: %d, at most %d by one"
              + " request.",
          losses.sent(),
          losses.engines(),
          losses.most());
    }
    if (!tally.failures().isEmpty()) {
      line(out, "%nThe first failures:%n");
      tally.failures().forEach(failure -> out.append("    ").append(failure).append('\n'));
      line(out, "%nThe end of the router's log:%n");
      log.lines()
          .skip(Math.max(0, log.lines().count() - 20))
          .forEach(l -> out.append("    ").append(l).append('\n'));
    }
    return out.toString();
  }

  private String load() {
    double[] loads = samples.stream().mapToDouble(Sample::load).sorted().toArray();
    return loads.length == 0
        ? "not taken"
        : String.format(Locale.ROOT, "%.1f to %.1f", loads[0], loads[loads.length - 1]);
  }

  private Map<ChaosFault, int[]> byFault() {
    Map<ChaosFault, int[]> found = new EnumMap<>(ChaosFault.class);
    for (Strikes.Strike strike : strikes) {
      int[] figures = found.computeIfAbsent(strike.fault(), _ -> new int[2]);
      figures[0]++;
      figures[1] += strike.lastsMillis();
    }
    return found;
  }

  /** The counts as CSV. */
  public String csv() {
    StringBuilder out = new StringBuilder("what,name,count\n");
    tally.ends().forEach((end, count) -> line(out, "end,%s,%d", end, count));
    byFault().forEach((fault, figures) -> line(out, "fault,%s,%d", fault, figures[0]));
    line(out, "engines,cut,%d", witness.cutOnEngines());
    line(out, "workers,available,%d", witness.availability().least());
    line(out, "workers,looks,%d", witness.availability().looks());
    line(out, "left,in-flight,%d", witness.leftInFlight());
    line(out, "left,descriptors,%d", witness.leftOpen());
    return out.toString();
  }

  /** The router's resource use over time, as SVG. */
  public String plot(String title) {
    LinePlot plot = new LinePlot(title, "seconds");
    plot.panel("memory, MB", series(Sample.RESIDENT), series(Sample.HEAP), series(Sample.DIRECT));
    plot.panel("open descriptors", series(Sample.DESCRIPTORS));
    plot.panel("threads", series(Sample.THREADS));
    plot.panel("requests in flight", series(Sample.IN_FLIGHT));
    plot.panel("time of answers that are no streams, ms", series(Sample.P50), series(Sample.P99));
    plot.panel("load average of the machine", series(Sample.LOAD));
    return plot.svg();
  }

  private LinePlot.Line series(Sample.Column column) {
    String name =
        column.name().replaceAll("(memory outside of the |load average of the | of the.*)", "");
    return new LinePlot.Line(
        name,
        samples.stream().map(Sample::seconds).toList(),
        samples.stream().map(sample -> column.value().applyAsDouble(sample)).toList());
  }

  @SuppressWarnings("AnnotateFormatMethod") // The annotation requires a further library.
  private static void line(StringBuilder out, String format, Object... values) {
    out.append(String.format(Locale.ROOT, format, values)).append('\n');
  }
}
