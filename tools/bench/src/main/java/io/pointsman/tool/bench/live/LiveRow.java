package io.pointsman.tool.bench.live;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Results of one contender. Times are milliseconds of the trace.
 *
 * @param speed seconds of the trace per second
 * @param timings results of all requests
 * @param imbalance largest number of prompt tokens that an engine computed, divided by the mean
 * @param use processor use during the run
 * @param prediction quality of the contender's predictions; null if it publishes none
 * @param intervals the same over time; empty if it publishes none
 * @param problem the reason if the contender could not be measured; otherwise empty
 */
record LiveRow(
    String contender,
    String version,
    double speed,
    List<RequestTimes> timings,
    double imbalance,
    Use use,
    @Nullable Prediction prediction,
    List<PredictionLog.Entry> intervals,
    String problem) {

  /**
   * Mean processor use during the run.
   *
   * @param router contender and descendants, in cores
   * @param rig engines and load generator, in cores
   * @param machine share of all cores, 0 to 1
   */
  record Use(double router, double rig, double machine) {}

  static LiveRow failed(String contender, String version, String problem) {
    return new LiveRow(
        contender, version, 1, List.of(), 1, new Use(0, 0, 0), null, List.of(), problem);
  }

  private List<RequestTimes> answered() {
    return timings.stream().filter(RequestTimes::answered).toList();
  }

  int requests() {
    return answered().size();
  }

  int errors() {
    return timings.size() - requests();
  }

  /** The most frequent error with its count; empty without errors. */
  String worstProblem() {
    return timings.stream()
        .filter(times -> !times.answered())
        .collect(Collectors.groupingBy(RequestTimes::problem, Collectors.counting()))
        .entrySet()
        .stream()
        .max(Map.Entry.comparingByValue())
        .map(most -> most.getValue() + " x " + most.getKey())
        .orElse("");
  }

  /** Share of prompt tokens that the engines report as cached, 0 to 1. */
  double hit() {
    double prompt = answered().stream().mapToLong(RequestTimes::promptTokens).sum();
    return prompt == 0
        ? 0
        : answered().stream().mapToLong(RequestTimes::cachedTokens).sum() / prompt;
  }

  /** Times from the schedule to the first token. */
  Times ttft() {
    return times(RequestTimes::first);
  }

  /** Times from the schedule to the end of the response. */
  Times endToEnd() {
    return times(RequestTimes::end);
  }

  /** Times from the schedule to the sending: delay of the load generator. */
  Times late() {
    return times(RequestTimes::sent);
  }

  private Times times(ToLongFunction<RequestTimes> until) {
    return new Times(
        answered().stream()
            .mapToDouble(each -> (until.applyAsLong(each) - each.due()) / 1e6 * speed)
            .sorted()
            .toArray());
  }

  /** Sorted times in milliseconds of the trace. */
  @SuppressWarnings("ArrayRecordComponent") // The array has one owner and one reader.
  record Times(double[] sorted) {
    double mean() {
      return Arrays.stream(sorted).average().orElse(0);
    }

    /** The quantile of {@code share}, above 0 to 1. */
    double at(double share) {
      return sorted.length == 0 ? 0 : sorted[(int) Math.ceil(share * sorted.length) - 1];
    }
  }
}
