package io.pointsman.tool.bench.live;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.util.OptionalDouble;

/**
 * A router's published prediction sums up to a moment. Sums are in seconds.
 *
 * @param count number of predicted first tokens
 * @param predicted sum of the predicted times from placement to first token
 * @param measured sum of the measured times
 * @param early sum of the errors of tokens that came later than predicted
 * @param late sum of the errors of tokens that came earlier than predicted
 */
record Prediction(double count, double predicted, double measured, double early, double late) {
  private static final int PATIENCE_MILLIS = 5_000;
  private static final String TIMES = "pointsman_predicted_ttft_seconds_";
  private static final String ERRORS = "pointsman_ttft_prediction_error_seconds_";

  /**
   * Reads the sums from a router.
   *
   * @throws IOException if the router does not respond
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

  /** Parses metrics in Prometheus's text format; missing series count as 0. */
  static Prediction read(String metrics) {
    return new Prediction(
        value(metrics, TIMES + "count", "kind=\"measured\""),
        value(metrics, TIMES + "sum", "kind=\"predicted\""),
        value(metrics, TIMES + "sum", "kind=\"measured\""),
        value(metrics, ERRORS + "sum", "side=\"early\""),
        value(metrics, ERRORS + "sum", "side=\"late\""));
  }

  /** Sum of all series of the name with the label. */
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

  /** Mean absolute error in seconds; empty without predictions. */
  OptionalDouble error() {
    return per(early + late);
  }

  /** Mean of predicted minus measured time, in seconds; empty without predictions. */
  OptionalDouble bias() {
    return per(late - early);
  }

  /** Mean predicted time in seconds; empty without predictions. */
  OptionalDouble meanPredicted() {
    return per(predicted);
  }

  /** Mean measured time in seconds; empty without predictions. */
  OptionalDouble meanMeasured() {
    return per(measured);
  }

  private OptionalDouble per(double sum) {
    return count > 0 ? OptionalDouble.of(sum / count) : OptionalDouble.empty();
  }
}
