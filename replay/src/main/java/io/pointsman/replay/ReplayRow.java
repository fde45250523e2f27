package io.pointsman.replay;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.replay.run.RunResult;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;

/**
 * One policy at one rate.
 *
 * @param load in parts of round robin's capacity; NaN if that was not measured
 * @param rate requests a second
 * @param took seconds that the replay itself took
 */
record ReplayRow(String policy, double load, double rate, double took, RunResult result) {
  static final String HEADER =
      "%-20s %5s %7s %6s %9s %8s %8s %8s %8s %7s %8s"
          .formatted(
              "policy",
              "load",
              "req/s",
              "hit %",
              "TTFT mean",
              "p50",
              "p90",
              "p99",
              "e2e s",
              "imbal.",
              "took s");

  String text() {
    return String.format(
        Locale.ROOT,
        "%-20s %5s %7.2f %6.1f %9.0f %8.0f %8.0f %8.0f %8.1f %7.2f %8.1f%s",
        policy,
        Double.isNaN(load) ? "-" : String.format(Locale.ROOT, "%.2f", load),
        rate,
        result.hit() * 100,
        result.ttftMean(),
        result.ttft(0.5),
        result.ttft(0.9),
        result.ttft(0.99),
        result.endToEndMean() / 1000,
        result.imbalance(),
        took,
        remarks());
  }

  private String remarks() {
    String unserved = result.rejected() == 0 ? "" : "  " + result.rejected() + " not served";
    return Double.isNaN(result.bias())
        ? unserved
        : String.format(
            Locale.ROOT,
            "%s  predicted within %.0f ms, bias %+.0f",
            unserved,
            result.meanAbsoluteError(),
            result.bias());
  }

  /** All rows as a JSON list. */
  static String json(List<ReplayRow> rows) {
    ObjectMapper mapper = new ObjectMapper();
    ArrayNode list = mapper.createArrayNode();
    rows.forEach(row -> row.write(list.addObject()));
    try {
      return mapper.writerWithDefaultPrettyPrinter().writeValueAsString(list);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write(ObjectNode row) {
    row.put("policy", policy);
    row.put("requests", result.requests());
    row.put("rate", rate);
    row.put("hit", result.hit());
    ObjectNode ttft = row.putObject("ttft_ms");
    ttft.put("mean", result.ttftMean());
    ttft.put("p50", result.ttft(0.5));
    ttft.put("p90", result.ttft(0.9));
    ttft.put("p99", result.ttft(0.99));
    if (!Double.isNaN(result.bias())) {
      ObjectNode predicted = row.putObject("prediction_ms");
      predicted.put("mean_absolute_error", result.meanAbsoluteError());
      predicted.put("bias", result.bias());
    }
    row.putObject("e2e_ms").put("mean", result.endToEndMean());
    row.put("imbalance", result.imbalance());
  }
}
