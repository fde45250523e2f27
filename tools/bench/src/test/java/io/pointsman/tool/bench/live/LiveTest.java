package io.pointsman.tool.bench.live;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.tool.bench.BuiltRouter;
import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.Contenders;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import io.pointsman.tool.replay.trace.Workloads;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/**
 * Runs {@code bench live} briefly and checks that its results are complete and correct. It does not
 * compare times.
 */
@Timeout(300)
final class LiveTest {
  private static final int REQUESTS = 80;

  @TempDir Path directory;

  private final StringWriter said = new StringWriter();

  private int run(String... arguments) {
    PrintWriter out = new PrintWriter(said, true);
    List<Contender> known =
        List.of(pointsman("cost"), pointsman("round_robin"), absent(), broken());
    return new CommandLine(new LiveCommand(BuiltRouter.home(), known))
        .setOut(out)
        .setErr(out)
        .execute(arguments);
  }

  private static Contender pointsman(String policy) {
    Contender router = Contenders.pointsman(BuiltRouter.command(), policy, Map.of());
    return new Contender("pointsman-" + policy, router.body(), "", "", false, router.launcher());
  }

  private static Contender absent() {
    return new Contender(
        "absent",
        "",
        "",
        "not installed",
        false,
        _ -> {
          throw new AssertionError("started although it is not installed");
        });
  }

  private static Contender broken() {
    return new Contender(
        "broken", "", "", "", false, _ -> new Contender.LaunchCommand(List.of("false"), Map.of()));
  }

  @Test
  @Tag("full")
  void everyContenderServesTheSameRequestsAndFiguresMatchTheEngines() throws Exception {
    String[] oneEngine = {
      "best-of-n",
      "--rate",
      "20",
      "--requests",
      "" + REQUESTS,
      "--speed",
      "10",
      "--engines",
      "1",
      "--out",
      directory.toString(),
      "--json"
    };
    assertThat(run(oneEngine)).as("%s", said).isZero();

    JsonNode rows = new ObjectMapper().readTree(directory.resolve("live.json").toFile());
    assertThat(rows.findValuesAsText("contender"))
        .containsExactly("pointsman-cost", "pointsman-round_robin", "broken");
    double reachable = reachable();
    for (int i = 0; i < 2; i++) {
      JsonNode row = rows.get(i);
      assertThat(row.get("requests").asInt()).as("%s", row).isEqualTo(REQUESTS);
      assertThat(row.get("errors").asInt()).as("%s", row).isZero();
      // Siblings that arrive during the first request's prefill find only part of its blocks.
      assertThat(row.get("hit").asDouble()).as("%s", row).isBetween(reachable * 0.8, reachable);
      assertThat(row.get("imbalance").asDouble()).as("%s", row).isEqualTo(1);
      assertThat(row.get("ttft_ms").get("p99").asDouble())
          .isGreaterThanOrEqualTo(row.get("ttft_ms").get("p50").asDouble());
      assertThat(row.get("e2e_ms").get("mean").asDouble())
          .isGreaterThan(row.get("ttft_ms").get("mean").asDouble());
      assertThat(row.get("late_ms").get("mean").asDouble()).isNotNegative();
      assertThat(row.get("cpu").get("router").asDouble()).isPositive();
    }
    assertThat(rows.get(0).get("prediction_ms").get("mean_absolute_error").asDouble()).isPositive();
    assertThat(rows.get(1).has("prediction_ms")).isFalse();
    assertThat(rows.get(2).get("problem").asText()).startsWith("ended; false");
    assertThat(directory.resolve("live.txt"))
        .content()
        .contains("absent: left out, not installed")
        .containsPattern("broken +not measured: ended; false")
        .contains("its first tokens were predicted within");
    assertThat(directory.resolve("live.svg")).content().startsWith("<svg").contains("p99 TTFT");
    assertThat(tokensInCsv("pointsman-round_robin"))
        .isEqualTo(trace().requests().stream().mapToLong(TraceRequest::inputTokens).sum());
  }

  private static Trace trace() {
    return Workloads.make("best-of-n", 1).first(REQUESTS);
  }

  /** Hit rate of one cache if each request waits for the previous one. */
  private static double reachable() {
    Set<List<Long>> known = new HashSet<>();
    double found = 0;
    double all = 0;
    for (TraceRequest request : trace().requests()) {
      all += request.inputTokens();
      if (!known.add(Arrays.stream(request.blocks()).boxed().toList())) {
        found += (request.inputTokens() - 1) / 64 * 64;
      }
    }
    return found / all;
  }

  private long tokensInCsv(String contender) throws Exception {
    return Files.readAllLines(directory.resolve("live.csv")).stream()
        .filter(line -> line.startsWith(contender + ","))
        .mapToLong(line -> Long.parseLong(line.split(",", -1)[5]))
        .sum();
  }

  @Test
  void wrongNamesAndValuesAreRejected() {
    assertThat(run("nowhere.jsonl", "--rate", "1")).isEqualTo(2);
    assertThat(run("best-of-n", "--rate", "0")).isEqualTo(2);
    assertThat(run("best-of-n", "--rate", "1", "--speed", "-1")).isEqualTo(2);
    assertThat(run("best-of-n", "--rate", "1", "--contenders", "smgg")).isEqualTo(2);
    assertThat(said.toString())
        .contains("trace: nowhere.jsonl (expected: a file, or one of best-of-n, ")
        .contains("rate: 0.0 (expected: above 0)")
        .contains("speed: -1.0 (expected: above 0)")
        .contains("--contenders: smgg: unknown (expected: one of pointsman-cost, ");
  }
}
