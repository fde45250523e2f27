package io.pointsman.tool.bench.live;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.bench.live.LiveRow.Times;
import io.pointsman.tool.bench.plot.BarPlot;
import io.pointsman.tool.bench.plot.LinePlot;
import io.pointsman.tool.bench.plot.LinePlot.Line;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.function.Function;

/**
 * Results as text, JSON, CSV and plots.
 *
 * @param title title of the plots
 * @param header lines that describe the measurement
 */
record LiveReport(String title, List<String> header, List<LiveRow> rows) {
  static final String HEADER =
      "%-24s %6s %9s %8s %8s %8s %7s %7s %7s %13s %8s %6s %8s"
          .formatted(
              "contender",
              "hit %",
              "TTFT mean",
              "p50",
              "p90",
              "p99",
              "e2e s",
              "imbal.",
              "errors",
              "late mean/p99",
              "router %",
              "rig %",
              "machine %");

  static final String LEGEND =
      """
      Times are milliseconds of the trace, from when a request should have been sent. hit: cached prompt tokens that the
      engines reported, in parts of all. imbal.: most prompt tokens that an engine computed, in parts of the mean. late: when
      requests left, the generator's own share in all times. router, rig (engines and generator): processor time in % of one
      core; machine: of all cores, other work included.
      """;

  static String line(LiveRow row) {
    if (!row.problem().isEmpty()) {
      String problem = row.problem().lines().findFirst().orElse("");
      return "%-24s not measured: %s".formatted(row.contender(), problem);
    }
    Times ttft = row.ttft();
    StringBuilder line = new StringBuilder();
    line.append(
        String.format(
            Locale.ROOT,
            "%-24s %6.1f %9.0f %8.0f %8.0f %8.0f %7.1f %7.2f %7d %13s %8.0f %6.0f %8.0f",
            row.contender(),
            row.hit() * 100,
            ttft.mean(),
            ttft.at(0.5),
            ttft.at(0.9),
            ttft.at(0.99),
            row.endToEnd().mean() / 1000,
            row.imbalance(),
            row.errors(),
            String.format(Locale.ROOT, "%.1f/%.1f", row.late().mean(), row.late().at(0.99)),
            row.use().router() * 100,
            row.use().rig() * 100,
            row.use().machine() * 100));
    millis(row, Prediction::error)
        .ifPresent(
            error ->
                line.append(
                    String.format(
                        Locale.ROOT,
                        "%n  its first tokens were predicted within %.0f ms, bias %+.0f",
                        error,
                        millis(row, Prediction::bias).orElse(0))));
    if (row.errors() > 0) {
      line.append(String.format("%n  errors: %s", row.worstProblem()));
    }
    return line.toString();
  }

  /** A prediction figure, converted to milliseconds of the trace. */
  private static OptionalDouble millis(LiveRow row, Function<Prediction, OptionalDouble> of) {
    Prediction prediction = row.prediction();
    OptionalDouble seconds = prediction == null ? OptionalDouble.empty() : of.apply(prediction);
    return seconds.isPresent()
        ? OptionalDouble.of(seconds.getAsDouble() * 1000 * row.speed())
        : seconds;
  }

  private String text() {
    StringBuilder text = new StringBuilder();
    header.forEach(line -> text.append(line).append('\n'));
    text.append('\n').append(HEADER).append('\n');
    rows.forEach(row -> text.append(line(row)).append('\n'));
    return text.append('\n').append(LEGEND).toString();
  }

  /** All rows as a JSON list. */
  String json() {
    ObjectMapper mapper = new ObjectMapper();
    ArrayNode list = mapper.createArrayNode();
    rows.forEach(row -> write(row, list.addObject()));
    try {
      return mapper.writerWithDefaultPrettyPrinter().writeValueAsString(list) + "\n";
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void write(LiveRow row, ObjectNode json) {
    json.put("contender", row.contender()).put("version", row.version());
    if (!row.problem().isEmpty()) {
      json.put("problem", row.problem());
      return;
    }
    json.put("requests", row.requests()).put("errors", row.errors()).put("hit", row.hit());
    Times ttft = row.ttft();
    json.putObject("ttft_ms")
        .put("mean", ttft.mean())
        .put("p50", ttft.at(0.5))
        .put("p90", ttft.at(0.9))
        .put("p99", ttft.at(0.99));
    json.putObject("e2e_ms").put("mean", row.endToEnd().mean());
    json.put("imbalance", row.imbalance());
    json.putObject("late_ms").put("mean", row.late().mean()).put("p99", row.late().at(0.99));
    json.putObject("cpu")
        .put("router", row.use().router())
        .put("rig", row.use().rig())
        .put("machine", row.use().machine());
    OptionalDouble error = millis(row, Prediction::error);
    if (error.isPresent()) {
      json.putObject("prediction_ms")
          .put("mean_absolute_error", error.getAsDouble())
          .put("bias", millis(row, Prediction::bias).orElse(0));
    }
  }

  /** One line for each request of each contender. */
  private String csv() {
    StringBuilder out =
        new StringBuilder(
            "contender,request,late_ms,ttft_ms,e2e_ms,prompt_tokens,cached_tokens,problem\n");
    for (LiveRow row : rows) {
      double millis = row.speed() / 1e6;
      for (RequestTimes times : row.timings()) {
        out.append(
            String.format(
                Locale.ROOT,
                "%s,%d,%.3f,%.3f,%.3f,%d,%d,\"%s\"%n",
                row.contender(),
                times.index(),
                (times.sent() - times.due()) * millis,
                (times.first() - times.due()) * millis,
                (times.end() - times.due()) * millis,
                times.promptTokens(),
                times.cachedTokens(),
                times.problem().replace('"', '\'')));
      }
    }
    return out.toString();
  }

  private String bars() {
    BarPlot plot =
        new BarPlot(title, List.of("mean TTFT, ms", "p99 TTFT, ms", "end to end, s", "hits, %"));
    for (LiveRow row : rows) {
      if (row.problem().isEmpty()) {
        plot.row(
            new BarPlot.Row(
                row.contender(),
                row.contender().startsWith("pointsman"),
                List.of(
                    row.ttft().mean(),
                    row.ttft().at(0.99),
                    row.endToEnd().mean() / 1000,
                    row.hit() * 100)));
      }
    }
    return plot.svg();
  }

  /** Plot of a contender's predictions over the time of the trace. */
  private String predictions(LiveRow row) {
    return new LinePlot(title + ": " + row.contender(), "seconds of the trace")
        .panel(
            "time to first token, ms: mean of each interval",
            over(row, "measured", Prediction::meanMeasured),
            over(row, "predicted", Prediction::meanPredicted))
        .panel("mean absolute error, ms", over(row, "error", Prediction::error))
        .svg();
  }

  private static Line over(LiveRow row, String name, Function<Prediction, OptionalDouble> of) {
    return new Line(
        name,
        row.intervals().stream().map(entry -> entry.seconds() * row.speed()).toList(),
        row.intervals().stream()
            .map(entry -> of.apply(entry.prediction()).orElse(0) * 1000 * row.speed())
            .toList());
  }

  /**
   * Writes {@code live.txt}, {@code .json}, {@code .csv} and {@code .svg}. Rows with predictions
   * also get {@code live-prediction-NAME.svg}.
   */
  void write(Path directory) throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("live.txt"), text());
    Files.writeString(directory.resolve("live.json"), json());
    Files.writeString(directory.resolve("live.csv"), csv());
    Files.writeString(directory.resolve("live.svg"), bars());
    for (LiveRow row : rows) {
      if (!row.intervals().isEmpty()) {
        Files.writeString(
            directory.resolve("live-prediction-" + row.contender() + ".svg"), predictions(row));
      }
    }
  }
}
