package io.pointsman.tool.replay.run;

import java.util.ArrayList;
import java.util.List;

/**
 * Errors of the times to first token that were predicted at placement. An error is predicted minus
 * measured time: below 0 if the first token came later than predicted.
 */
public final class PredictionErrors {
  /** End of the first band; each further one is twice as wide. */
  private static final double FIRST_BAND_MILLIS = 32;

  private final List<ReplayedResponse> served;

  /**
   * Requests with about the same prediction; times in milliseconds.
   *
   * @param from least prediction
   * @param to least prediction of the next band
   * @param requests number of requests; at least 1
   * @param predicted mean of the predictions
   * @param measured mean of the measured times
   * @param meanAbsolute mean absolute error
   * @param bias mean error
   */
  public record Band(
      double from,
      double to,
      int requests,
      double predicted,
      double measured,
      double meanAbsolute,
      double bias) {}

  PredictionErrors(List<ReplayedResponse> all) {
    served = all.stream().filter(ReplayedResponse::predicted).toList();
  }

  /** Returns true if there are no predictions. */
  public boolean isEmpty() {
    return served.isEmpty();
  }

  /** Mean absolute error in milliseconds; NaN without predictions. */
  public double meanAbsolute() {
    return served.stream().mapToDouble(e -> Math.abs(error(e))).average().orElse(Double.NaN);
  }

  /** Mean error in milliseconds; NaN without predictions. */
  public double bias() {
    return served.stream().mapToDouble(PredictionErrors::error).average().orElse(Double.NaN);
  }

  private static double error(ReplayedResponse each) {
    return each.predictedMillis() - each.answeredMillis();
  }

  /** Bands with requests, in the order of predictions. */
  public List<Band> bands() {
    List<Band> bands = new ArrayList<>();
    double from = 0;
    double to = FIRST_BAND_MILLIS;
    for (int left = served.size(); left > 0 && from < Double.POSITIVE_INFINITY; to *= 2) {
      double least = from;
      double most = to;
      List<ReplayedResponse> within =
          served.stream()
              .filter(e -> e.predictedMillis() >= least && e.predictedMillis() < most)
              .toList();
      if (!within.isEmpty()) {
        bands.add(band(least, most, within));
      }
      left -= within.size();
      from = to;
    }
    return bands;
  }

  private static Band band(double from, double to, List<ReplayedResponse> within) {
    PredictionErrors errors = new PredictionErrors(within);
    return new Band(
        from,
        to,
        within.size(),
        within.stream().mapToDouble(ReplayedResponse::predictedMillis).average().orElse(0),
        within.stream().mapToDouble(ReplayedResponse::answeredMillis).average().orElse(0),
        errors.meanAbsolute(),
        errors.bias());
  }

  /**
   * Number of requests in each cell of predicted and measured time, both on a logarithmic scale.
   *
   * @param fromMillis least distinguished time; smaller ones count as this
   * @param perDecade cells for each factor of ten
   * @param cells number in each direction; larger times count in the last
   * @return by predicted, then by measured time
   */
  public int[][] cells(double fromMillis, int perDecade, int cells) {
    int[][] counts = new int[cells][cells];
    for (ReplayedResponse each : served) {
      int predicted = cell(each.predictedMillis() / fromMillis, perDecade, cells);
      counts[predicted][cell(each.answeredMillis() / fromMillis, perDecade, cells)]++;
    }
    return counts;
  }

  private static int cell(double ratio, int perDecade, int cells) {
    return (int) Math.clamp(Math.log10(Math.max(1, ratio)) * perDecade, 0, cells - 1.0);
  }
}
