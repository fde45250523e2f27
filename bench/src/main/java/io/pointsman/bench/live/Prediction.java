package io.pointsman.bench.live;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.util.OptionalDouble;

/**
 * What a router's metrics have said of its predictions up to a moment; sums of seconds.
 *
 * @param count first tokens that had been predicted
 * @param predicted when they were expected, from the placement on
 * @param measured when they came
 * @param early of those expected before they came, by how much
 * @param late of the others, by how much
 */
record Prediction(double count, double predicted, double measured, double early, double late) {
  private static final int PATIENCE_MILLIS = 5_000;
  private static final String TIMES = "pointsman_predicted_ttft_seconds_";
  private static final String ERRORS = "pointsman_ttft_prediction_error_seconds_";

  /**
   * Asks a router.
   *
   * @throws IOException if there is none, or it has no such metrics
   */
  static Prediction at(int metricsPort) throws IOException {
    URLConnection connection =
        URI.create("http://127.0.0.1:" + metricsPort + "/metrics").toURL().openConnection();
    connection.setConnectTimeout(PATIENCE_MILLIS);
    connection.setReadTimeout(PATIENCE_MILLIS);
    try (InputStream in = connection.getInputStream()) {
      return read(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    }
  }

  /** Reads it from metrics in Prometheus's text format; what is not there is 0. */
  static Prediction read(String metrics) {
    return new Prediction(
        value(metrics, TIMES + "count", "kind=\"measured\""),
        value(metrics, TIMES + "sum", "kind=\"predicted\""),
        value(metrics, TIMES + "sum", "kind=\"measured\""),
        value(metrics, ERRORS + "sum", "side=\"early\""),
        value(metrics, ERRORS + "sum", "side=\"late\""));
  }

  /** Of all samples of this name with this label. */
  private static double value(String metrics, String name, String label) {
    return metrics
        .lines()
        .filter(line -> line.startsWith(name + "{") && line.contains(label))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  Prediction since(Prediction before) {
    return new Prediction(
        count - before.count,
        predicted - before.predicted,
        measured - before.measured,
        early - before.early,
        late - before.late);
  }

  /** Mean absolute error in seconds; empty if nothing was predicted. */
  OptionalDouble error() {
    return per(early + late);
  }

  /** Mean of predicted less measured, in seconds; empty if nothing was predicted. */
  OptionalDouble bias() {
    return per(late - early);
  }

  /** Mean of what was predicted, in seconds. */
  OptionalDouble meanPredicted() {
    return per(predicted);
  }

  /** Mean of what was measured, in seconds. */
  OptionalDouble meanMeasured() {
    return per(measured);
  }

  private OptionalDouble per(double sum) {
    return count > 0 ? OptionalDouble.of(sum / count) : OptionalDouble.empty();
  }
}
