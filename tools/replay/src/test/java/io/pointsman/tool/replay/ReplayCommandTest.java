package io.pointsman.tool.replay;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.tool.replay.trace.MooncakeTrace;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class ReplayCommandTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... arguments) {
    CommandLine command = new CommandLine(new ReplayCommand(() -> 0));
    command.setOut(new PrintWriter(out));
    command.setErr(new PrintWriter(err));
    return command.execute(arguments);
  }

  @Test
  void resultsAreAListOfObjects() throws Exception {
    int code =
        run("best-of-n", "--requests", "200", "--rate", "10", "--policy", "cost,greedy", "--json");

    assertThat(code).as(err.toString()).isZero();
    JsonNode list = new ObjectMapper().readTree(out.toString());
    assertThat(list).hasSize(2);
    JsonNode row = list.get(0);
    assertThat(row.get("policy").asText()).isEqualTo("cost");
    assertThat(row.get("requests").asInt()).isEqualTo(200);
    assertThat(row.get("rate").asDouble()).isEqualTo(10);
    assertThat(row.get("hit").asDouble()).isBetween(0.3, 0.9);
    assertThat(row.get("ttft_ms").get("mean").asDouble()).isPositive();
    assertThat(row.get("ttft_ms").get("p99").asDouble())
        .isGreaterThanOrEqualTo(row.get("ttft_ms").get("p90").asDouble());
    assertThat(row.get("ttft_ms").get("p90").asDouble())
        .isGreaterThanOrEqualTo(row.get("ttft_ms").get("p50").asDouble());
    assertThat(row.get("e2e_ms").get("mean").asDouble())
        .isGreaterThan(row.get("ttft_ms").get("mean").asDouble());
    assertThat(row.get("imbalance").asDouble()).isGreaterThanOrEqualTo(1);
  }

  @Test
  void computedTokensAreReportedByEngineAndWindow() throws Exception {
    int code =
        run(
            "best-of-n",
            "--requests",
            "400",
            "--rate",
            "20",
            "--policy",
            "cost",
            "--workers",
            "2",
            "--change",
            "10=2",
            "--window",
            "5",
            "--json");

    assertThat(code).as(err.toString()).isZero();
    JsonNode windows = new ObjectMapper().readTree(out.toString()).get(0).get("windows");
    assertThat(windows.get("seconds").asDouble()).isEqualTo(5);
    JsonNode engines = windows.get("engines");
    assertThat(engines).hasSize(3);
    JsonNode joined = engines.get(2);
    assertThat(joined.get("engine").asInt()).isEqualTo(2);
    assertThat(joined.get("joined_s").asDouble()).isEqualTo(10);
    assertThat(joined.has("left_s")).isFalse();
    assertThat(joined.get("share").get(0).isNull()).isTrue();
    assertThat(joined.get("share").get(1).isNull()).isTrue();
    assertThat(joined.get("share").get(2).asDouble()).isPositive();
    int requests = 0;
    for (JsonNode engine : engines) {
      assertThat(engine.get("computed_tokens")).hasSameSizeAs(windows.get("ttft_mean_ms"));
      for (JsonNode each : engine.get("requests")) {
        requests += each.asInt();
      }
    }
    assertThat(requests).isEqualTo(400);
  }

  @Test
  void predictionErrorsAndCacheMissesAreReported() throws Exception {
    int code =
        run(
            "best-of-n",
            "--requests",
            "400",
            "--rate",
            "20",
            "--policy",
            "cost,round_robin",
            "--json");

    assertThat(code).as(err.toString()).isZero();
    JsonNode list = new ObjectMapper().readTree(out.toString());
    JsonNode errors = list.get(0).get("prediction_ms");
    double error = 0;
    double bias = 0;
    int requests = 0;
    for (JsonNode band : errors.get("bands")) {
      assertThat(band.get("predicted").asDouble())
          .isBetween(band.get("from").asDouble(), band.get("to").asDouble());
      requests += band.get("requests").asInt();
      error += band.get("mean_absolute_error").asDouble() * band.get("requests").asInt();
      bias += band.get("bias").asDouble() * band.get("requests").asInt();
    }
    assertThat(requests).isEqualTo(400);
    assertThat(errors.get("mean_absolute_error").asDouble())
        .isPositive()
        .isCloseTo(error / 400, within(1e-6));
    assertThat(errors.get("bias").asDouble()).isCloseTo(bias / 400, within(1e-6));
    assertThat(list.get(0).get("lost_hit_tokens").get("never_seen").asLong()).isPositive();
    assertThat(list.get(1).has("prediction_ms")).isFalse();
    assertThat(list.get(1).has("lost_hit_tokens")).isFalse();
  }

  @Test
  void sharesAndPredictionsAreDrawn(@TempDir Path directory) throws Exception {
    Path shares = directory.resolve("shares.svg");
    Path predictions = directory.resolve("predictions.svg");
    int code =
        run(
            "best-of-n",
            "--requests",
            "400",
            "--rate",
            "20",
            "--policy",
            "round_robin,cost",
            "--change",
            "5=8",
            "--plot-shares",
            shares.toString(),
            "--plot-predictions",
            predictions.toString());

    assertThat(code).as(err.toString()).isZero();
    assertThat(drawing(shares)).contains("round_robin, 20.00", "cost, 20.00", "engine 8");
    assertThat(drawing(predictions))
        .contains("cost, 20.00 requests/s: mean absolute error ")
        .doesNotContain("round_robin");
  }

  /** The whole text of an SVG file; fails unless it is well-formed XML. */
  private static String drawing(Path file) throws Exception {
    return DocumentBuilderFactory.newDefaultInstance()
        .newDocumentBuilder()
        .parse(file.toFile())
        .getDocumentElement()
        .getTextContent();
  }

  @Test
  void traceInMooncakesFormatIsReplayed(@TempDir Path directory) throws Exception {
    Path trace = directory.resolve("trace.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}
        {"timestamp": 2000, "input_length": 1100, "output_length": 5, "hash_ids": [1, 3, 4]}
        """);
    Path plot = directory.resolve("plot.svg");

    int code =
        run(trace.toString(), "--load", "0.5", "--policy", "cost", "--plot", plot.toString());

    assertThat(code).as(err.toString()).isZero();
    assertThat(out.toString()).contains("cost ").contains("0.50");
    assertThat(Files.readString(plot))
        .startsWith("<svg")
        .contains("mean TTFT")
        .endsWith("</svg>\n");
  }

  @Test
  void linesInAnyOrderAndWithTheirOwnBlockSizeAreReplayed(@TempDir Path directory)
      throws Exception {
    Path trace = directory.resolve("trace.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 900, "input_length": 160, "output_length": 5, "block_tokens": 60.4, "hash_ids": [1, 2, 5]}
        {"timestamp": 0, "input_length": 130, "output_length": 5, "block_tokens": 69.1, "hash_ids": [1, 2]}
        """);
    Trace read = MooncakeTrace.read(trace);

    assertThat(read.blockTokens()).isEqualTo(64);
    assertThat(read.requests()).extracting(TraceRequest::at).containsExactly(0.0, 900.0);
    assertThat(read.requests()).extracting(TraceRequest::inputTokens).containsExactly(130, 160);
    assertThat(read.requests().get(1).blocks()).hasSize(3);
    assertThat(read.requests().get(1).blocks()).startsWith(read.requests().get(0).blocks());
  }

  /** Like the second file of a capture: times count from the router's start. */
  @Test
  void traceThatBeginsLateEqualsOneThatBeginsAtOnce(@TempDir Path directory) throws Exception {
    String line =
        """
        {"timestamp": %d, "input_length": 1000, "output_length": 5, "hash_ids": [%d]}
        """;
    Path early = directory.resolve("early.jsonl");
    Files.writeString(early, line.formatted(0, 1) + line.formatted(2000, 2));
    Path late = directory.resolve("late.jsonl");
    Files.writeString(late, line.formatted(3_602_000, 2) + line.formatted(3_600_000, 1));

    Trace expected = MooncakeTrace.read(early);
    Trace read = MooncakeTrace.read(late);
    assertThat(read.rate()).isEqualTo(expected.rate()).isEqualTo(1);
    assertThat(read.requests())
        .usingRecursiveFieldByFieldElementComparator()
        .isEqualTo(expected.requests());
  }

  @Test
  void refusedRequestsAreNoWork(@TempDir Path directory) throws Exception {
    Path trace = directory.resolve("trace.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2], "end": "ok"}
        {"timestamp": 9, "input_length": 500000, "output_length": 256, "hash_ids": [3], "end": "refused"}
        {"timestamp": 10, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2], "end": "cut"}
        """);

    assertThat(MooncakeTrace.read(trace).requests()).hasSize(2);
    int code = run(trace.toString(), "--policy", "cost", "--json");
    assertThat(code).as(err.toString()).isZero();
    JsonNode row = new ObjectMapper().readTree(out.toString()).get(0);
    assertThat(row.get("requests").asInt()).isEqualTo(2);
    assertThat(row.get("not_served").asInt()).isZero();
  }

  @Test
  void requestsTooLargeForAnyEngineAreNotServed(@TempDir Path directory) throws Exception {
    Path trace = directory.resolve("trace.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 0, "input_length": 2000, "output_length": 5, "hash_ids": [1, 2, 3, 4]}
        {"timestamp": 10, "input_length": 400000, "output_length": 1, "hash_ids": [5]}
        """);

    assertThat(run(trace.toString(), "--policy", "cost")).as(err.toString()).isZero();
    assertThat(out.toString()).contains("  1 not served");
    assertThat(run(trace.toString(), "--policy", "cost", "--kv-tokens", "2000")).isEqualTo(2);
    assertThat(err.toString()).contains("kv-tokens: 2000 (expected: room for one of the requests)");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "{\"timestamp\": 0, \"input_length\": 1000}|output_length: missing",
        "[]|timestamp: missing",
        "7|timestamp: missing",
        "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 5, \"hash_ids\": \"x\"}"
            + "|hash_ids: \"x\" (expected: a list of numbers)",
        "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 5, \"hash_ids\": [\"a1f\"]}"
            + "|hash_ids: \"a1f\" (expected: a list of numbers)",
        "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 5, \"hash_ids\": [1.5]}"
            + "|hash_ids: 1.5 (expected: a list of numbers)",
        "{\"timestamp\": \"soon\", \"input_length\": 9, \"output_length\": 5, \"hash_ids\": []}"
            + "|timestamp: \"soon\" (expected: a number)",
        "{\"timestamp\": 0, \"input_length\": 1e12, \"output_length\": 5, \"hash_ids\": []}"
            + "|input_length: 1.0E12 (expected: a whole number)",
        "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": null, \"hash_ids\": []}"
            + "|output_length: null (expected: a number)",
        "{\"timestamp\": 0, \"input_length\": 0, \"output_length\": 5, \"hash_ids\": []}"
            + "|input_length, output_length: 0, 5 (expected: at least 1, at least 0)",
        "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 5, \"hash_ids\": [],"
            + " \"block_tokens\": \"64\"}|block_tokens: \"64\" (expected: a number)",
      })
  void brokenTraceIsRefusedWithItsLine(String line, String why, @TempDir Path directory)
      throws Exception {
    Path trace = directory.resolve("trace.jsonl");
    Files.writeString(
        trace,
        "{\"timestamp\": 0, \"input_length\": 1000, \"output_length\": 5, \"hash_ids\": [1, 2]}\n"
            + line);

    assertThat(run(trace.toString())).isEqualTo(2);
    assertThat(err.toString()).contains("trace.jsonl:2: " + why);
  }

  @Test
  void traceThatCannotBeReadIsRefusedWithItsPath(@TempDir Path directory) throws Exception {
    Path binary = directory.resolve("binary.jsonl");
    Files.write(binary, new byte[] {(byte) 0x80, (byte) 0xff, 10});

    assertThat(run(directory.toString())).isEqualTo(2);
    assertThat(err.toString()).contains("trace: " + directory).doesNotContain("\tat ");
    assertThat(run(binary.toString())).isEqualTo(2);
    assertThat(err.toString()).contains("trace: " + binary).doesNotContain("\tat ");
  }

  @Test
  void compressedTraceIsReplayed(@TempDir Path directory) throws Exception {
    Path trace = directory.resolve("trace.jsonl.gz");
    try (OutputStream packed = new GZIPOutputStream(Files.newOutputStream(trace))) {
      packed.write(
          "{\"timestamp\": 0, \"input_length\": 1000, \"output_length\": 5, \"hash_ids\": [1, 2]}"
              .getBytes(UTF_8));
    }

    Trace read = MooncakeTrace.read(trace);
    assertThat(read.name()).isEqualTo("trace");
    assertThat(read.requests()).hasSize(1);
  }

  @Test
  void promptsWithoutBlocksAreReplayedAsTokenIds(@TempDir Path directory) throws Exception {
    Path trace = directory.resolve("trace.jsonl");
    Files.writeString(
        trace,
        """
        {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": []}
        {"timestamp": 10, "input_length": 1000, "output_length": 5, "hash_ids": [1]}
        """);

    int code = run(trace.toString(), "--policy", "cost", "--kv-events", "0", "--json");
    assertThat(code).as(err.toString()).isZero();
    JsonNode row = new ObjectMapper().readTree(out.toString()).get(0);
    assertThat(row.get("requests").asInt()).isEqualTo(2);
  }

  @Test
  void wrongNamesAndNumbersAreRefused() {
    assertThat(run("nowhere.jsonl")).isEqualTo(2);
    assertThat(run("best-of-n", "--policy", "cots")).isEqualTo(2);
    assertThat(run("best-of-n", "--load", "0")).isEqualTo(2);
    assertThat(run("best-of-n", "--load", "1", "--rate", "1")).isEqualTo(2);
    assertThat(run("best-of-n", "--workers", "0")).isEqualTo(2);
    assertThat(run("best-of-n", "--rate", "1", "--slow", "1=0")).isEqualTo(2);
    assertThat(run("best-of-n", "--rate", "1", "--change", "soon")).isEqualTo(2);
    assertThat(run("best-of-n", "--rate", "1", "--change", "5=-1")).isEqualTo(2);
    assertThat(run("best-of-n", "--rate", "1", "--change", "-5=1")).isEqualTo(2);
    assertThat(run("best-of-n", "--rate", "1", "--slow", "8=2")).isEqualTo(2);
    assertThat(run("best-of-n", "--rate", "1", "--window", "0")).isEqualTo(2);
    assertThat(run("best-of-n", "--capacity", "NaN")).isEqualTo(2);
    assertThat(run("best-of-n", "--requests", "-5")).isEqualTo(2);
    assertThat(err.toString())
        .contains("trace: nowhere.jsonl (expected: a file, or one of best-of-n, multi-turn, tool-")
        .contains("policy: cots (expected: one of ")
        .contains("load: 0.0 (expected: above 0)")
        .contains("--load, --rate: both given (expected: one of them)")
        .contains("workers: 0 (expected: 1 to 16384)")
        .contains("slow: 1=0.0 (expected: ")
        .contains("change: soon (expected: SECONDS=I)")
        .contains("change: 5.0=-1 (expected: ")
        .contains("change: -5.0=1 (expected: ")
        .contains("slow: 8=2.0 (expected: an engine that is there or comes)")
        .contains("capacity: NaN (expected: above 0)")
        .contains("requests: -5 (expected: at least 0)")
        .contains("window: 0.0 (expected: above 0)");
  }
}
