package io.pointsman.bench.live;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What came of one contender's run. Times are milliseconds of the trace.
 *
 * @param speed seconds of the trace per second
 * @param courses one for each request
 * @param imbalance most prompt tokens that an engine computed, in parts of the mean
 * @param use of processors meanwhile
 * @param prediction what came of the contender's own predictions; null if it tells none
 * @param intervals the same over time; empty if it tells none
 * @param problem why it was not run at all; empty if it was
 */
record LiveRow(
    String contender,
    String version,
    double speed,
    List<Course> courses,
    double imbalance,
    Use use,
    @Nullable Prediction prediction,
    List<PredictionLog.Entry> intervals,
    String problem) {

  /**
   * Processor time in parts of one core, while requests were under way.
   *
   * @param router the contender and its descendants
   * @param rig engines and generator
   * @param machine all cores together, 1 when all of them are busy
   */
  record Use(double router, double rig, double machine) {}

  static LiveRow failed(String contender, String version, String problem) {
    return new LiveRow(
        contender, version, 1, List.of(), 1, new Use(0, 0, 0), null, List.of(), problem);
  }

  private List<Course> answered() {
    return courses.stream().filter(Course::answered).toList();
  }

  int requests() {
    return answered().size();
  }

  int errors() {
    return courses.size() - requests();
  }

  /** The most frequent problem of requests, with its number; empty if there was none. */
  String worstProblem() {
    return courses.stream()
        .filter(course -> !course.answered())
        .collect(Collectors.groupingBy(Course::problem, Collectors.counting()))
        .entrySet()
        .stream()
        .max(Map.Entry.comparingByValue())
        .map(most -> most.getValue() + " x " + most.getKey())
        .orElse("");
  }

  /** Prompt tokens that the engines found in their caches, in parts of all, as they reported. */
  double hit() {
    double prompt = answered().stream().mapToLong(Course::promptTokens).sum();
    return prompt == 0 ? 0 : answered().stream().mapToLong(Course::cachedTokens).sum() / prompt;
  }

  /** From when a request should have been sent to its first token. */
  Times ttft() {
    return times(Course::first);
  }

  /** From when a request should have been sent to the end of its answer. */
  Times endToEnd() {
    return times(Course::end);
  }

  /** From when a request should have been sent to when it was: the generator's own share. */
  Times late() {
    return times(Course::sent);
  }

  private Times times(ToLongFunction<Course> until) {
    return new Times(
        answered().stream()
            .mapToDouble(each -> (until.applyAsLong(each) - each.due()) / 1e6 * speed)
            .sorted()
            .toArray());
  }

  /** Milliseconds of the trace, sorted. */
  @SuppressWarnings("ArrayRecordComponent") // made here, read once
  record Times(double[] sorted) {
    double mean() {
      return Arrays.stream(sorted).average().orElse(0);
    }

    /** What a share of them, above 0, did not exceed. */
    double at(double share) {
      return sorted.length == 0 ? 0 : sorted[(int) Math.ceil(share * sorted.length) - 1];
    }
  }
}
