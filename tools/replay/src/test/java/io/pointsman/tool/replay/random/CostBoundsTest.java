package io.pointsman.tool.replay.random;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.tool.replay.ReplayCommand;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/**
 * {@code cost} compared with other routers on eight workloads of docs/evidence/routing-quality.md.
 * Two errors would make it up to six times slower than the best of them. One prices requests that
 * are not delayed; the other defers a request although a batch has room.
 */
class CostBoundsTest {
  /** Maximum ratio to the best other router on the same workload. */
  private static final double MOST = 1.1;

  /** Maximum ratio to round robin. */
  private static final double MOST_OF_ROUND_ROBIN = 1.05;

  private static JsonNode replayed(String workload) throws Exception {
    StringWriter out = new StringWriter();
    CommandLine command = new CommandLine(new ReplayCommand(() -> 0));
    command.setOut(new PrintWriter(out));
    int code =
        command.execute(
            workload,
            "--requests",
            "1200",
            "--policy",
            "cost,round_robin,llm_d,cache_aware",
            "--json");
    assertThat(code).isZero();
    JsonNode rows = new ObjectMapper().readTree(out.toString());
    return rows.isArray() ? rows.get(0) : rows;
  }

  private static double meanOf(JsonNode row, String policy) {
    for (JsonNode each : row.get("policies")) {
      if (each.get("policy").asText().equals(policy)) {
        return each.get("ttft_mean_ms").asDouble();
      }
    }
    throw new AssertionError(policy + " in " + row);
  }

  @ParameterizedTest
  @ValueSource(longs = {7, 17, 19, 33, 51, 53, 57, 60})
  void costIsCloseToTheBestRouterAndNoWorseThanRoundRobin(long seed) throws Exception {
    JsonNode row = replayed("random:" + seed);

    assertThat(row.get("mean").get("ratio").asDouble()).isLessThanOrEqualTo(MOST);
    double roundRobin = PolicyComparison.ratio(meanOf(row, "cost"), meanOf(row, "round_robin"));
    assertThat(roundRobin).isLessThanOrEqualTo(MOST_OF_ROUND_ROBIN);
  }
}
