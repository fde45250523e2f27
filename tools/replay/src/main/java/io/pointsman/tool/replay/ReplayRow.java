package io.pointsman.tool.replay;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.tool.replay.run.PredictionErrors;
import io.pointsman.tool.replay.run.Presence;
import io.pointsman.tool.replay.run.RunResult;
import io.pointsman.tool.replay.run.TimeLine;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The result of one policy at one rate.
 *
 * @param load relative to round robin's capacity; NaN if that was not measured
 * @param rate requests per second
 * @param took real duration of the replay in seconds
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
    PredictionErrors errors = result.predictions();
    return errors.isEmpty()
        ? unserved
        : String.format(
            Locale.ROOT,
            "%s  predicted within %.0f ms, bias %+.0f",
            unserved,
            errors.meanAbsolute(),
            errors.bias());
  }

  /**
   * Formats all rows as a JSON list.
   *
   * @param windowSeconds length of a window of the time line
   */
  static String json(List<ReplayRow> rows, double windowSeconds) {
    ObjectMapper mapper = new ObjectMapper();
    ArrayNode list = mapper.createArrayNode();
    rows.forEach(row -> row.write(list.addObject(), windowSeconds));
    try {
      return mapper.writerWithDefaultPrettyPrinter().writeValueAsString(list);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write(ObjectNode row, double windowSeconds) {
    row.put("policy", policy);
    row.put("requests", result.requests());
    row.put("not_served", result.rejected());
    row.put("rate", rate);
    row.put("hit", result.hit());
    row.put("merged_cache_hit", result.mergedHit());
    ObjectNode ttft = row.putObject("ttft_ms");
    ttft.put("mean", result.ttftMean());
    ttft.put("p50", result.ttft(0.5));
    ttft.put("p90", result.ttft(0.9));
    ttft.put("p99", result.ttft(0.99));
    row.putObject("deferred")
        .put("requests", result.deferred())
        .put("mean_ms", result.deferredMean())
        .put("most_ms", result.deferredMax());
    PredictionErrors errors = result.predictions();
    if (!errors.isEmpty()) {
      write(errors, row.putObject("prediction_ms"));
    }
    CacheMissAttribution lost = result.cacheMisses();
    if (lost != null) {
      ObjectNode tokens = row.putObject("lost_hit_tokens");
      for (CacheMiss reason : CacheMiss.values()) {
        tokens.put(reason.name().toLowerCase(Locale.ROOT), lost.tokens(reason));
      }
    }
    row.putObject("e2e_ms").put("mean", result.endToEndMean());
    row.put("imbalance", result.imbalance());
    write(result.timeLine(windowSeconds), row.putObject("windows"));
  }

  private static void write(PredictionErrors errors, ObjectNode to) {
    to.put("mean_absolute_error", errors.meanAbsolute());
    to.put("bias", errors.bias());
    ArrayNode bands = to.putArray("bands");
    for (PredictionErrors.Band band : errors.bands()) {
      bands
          .addObject()
          .put("from", band.from())
          .put("to", band.to())
          .put("requests", band.requests())
          .put("predicted", band.predicted())
          .put("measured", band.measured())
          .put("mean_absolute_error", band.meanAbsolute())
          .put("bias", band.bias());
    }
  }

  private static void write(TimeLine line, ObjectNode to) {
    to.put("seconds", line.windowSeconds());
    ArrayNode means = to.putArray("ttft_mean_ms");
    for (int window = 0; window < line.windows(); window++) {
      put(means, line.ttftMean(window));
    }
    ArrayNode engines = to.putArray("engines");
    for (int i = 0; i < line.engines().size(); i++) {
      Presence presence = line.engines().get(i);
      ObjectNode engine = engines.addObject();
      engine.put("engine", presence.engine());
      engine.put("joined_s", presence.joined());
      if (presence.left() < Double.POSITIVE_INFINITY) {
        engine.put("left_s", presence.left());
      }
      ArrayNode requests = engine.putArray("requests");
      Arrays.stream(line.requests(i)).forEach(requests::add);
      ArrayNode tokens = engine.putArray("computed_tokens");
      Arrays.stream(line.computedTokens(i)).forEach(tokens::add);
      ArrayNode share = engine.putArray("share");
      for (int window = 0; window < line.windows(); window++) {
        put(share, line.share(i, window));
      }
    }
  }

  /** Adds a number with three decimals; null for NaN. */
  private static void put(ArrayNode list, double value) {
    if (Double.isNaN(value)) {
      list.addNull();
    } else {
      list.add(Math.round(value * 1000) / 1000.0);
    }
  }
}
