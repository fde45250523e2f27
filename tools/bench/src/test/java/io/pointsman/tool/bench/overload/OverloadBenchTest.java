package io.pointsman.tool.bench.overload;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.bench.BuiltRouter;
import io.pointsman.tool.bench.contender.Contenders;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class OverloadBenchTest {
  private static ClientResult result(int sent, int served, double seconds) {
    ClientResult result = new ClientResult(Long.MAX_VALUE / 2);
    for (int i = 0; i < sent; i++) {
      result.sent();
      if (i < served) {
        result.served(seconds);
      } else {
        result.shed(true);
      }
    }
    return result;
  }

  @Test
  void missesNameEachTarget() {
    ClientResult urgent = result(10, 10, 0.11);
    ClientResult greedy = result(1000, 460, 1);
    ClientResult polite = result(450, 450, 1);
    assertThat(new OverloadResult(10, 0.1, 100, greedy, polite, urgent).misses()).isEmpty();

    ClientResult late = result(10, 10, 0.13);
    assertThat(new OverloadResult(10, 0.1, 100, greedy, result(450, 400, 1), late).misses())
        .containsExactly(
            "polite client: 0.89 of its share (at least 0.9)",
            "high priority: 1.30 x its time at a usual load (at most 1.2)",
            "goodput: 0.87 of the capacity (at least 0.9)");
    greedy.shed(false);
    polite.failed();
    assertThat(new OverloadResult(10, 0.1, 100, greedy, polite, urgent).misses())
        .containsExactly("1 refusals without a reason or Retry-After, 1 failures (none)");
  }

  /** A run that is too short for its figures; every request must end as it should. */
  @Test
  @Tag("full")
  void eachRequestIsServedOrRefusedWithAReason() throws Exception {
    Overload bench = new Overload();
    new CommandLine(bench).parseArgs("--seconds", "3", "--concurrency", "8");
    OverloadResult result =
        bench.run(Contenders.pointsman(BuiltRouter.command(), "least_load", Map.of()));

    assertThat(result.greedy().shedCount()).isPositive();
    assertThat(result.polite().servedCount()).isPositive();
    assertThat(result.urgent().shedCount()).isZero();
    assertThat(result.misses()).noneMatch(miss -> miss.contains("refusals"));
  }
}
