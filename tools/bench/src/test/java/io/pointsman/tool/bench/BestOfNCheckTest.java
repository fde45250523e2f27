package io.pointsman.tool.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.bench.contender.Contenders;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** Best-of-n over real sockets with few requests, and the checks of its results. */
final class BestOfNCheckTest {
  private static final int REQUESTS = 16 * 8;

  private static BestOfNRow run(String policy) throws Exception {
    BestOfN bench = new BestOfN();
    new CommandLine(bench)
        .parseArgs("--engines", "4", "--prompts", "16", "--samples", "8", "--tokens", "873");
    return bench.row(Contenders.pointsman(BuiltRouter.command(), policy, Map.of()));
  }

  @Test
  @Tag("full")
  void cacheAwareSendsSamplesOfAPromptTogetherAndRoundRobinDoesNot() throws Exception {
    BestOfNRow together = run("cache_aware");
    BestOfNRow scattered = run("round_robin");

    assertThat(together.failures()).isZero();
    assertThat(sum(together.requests())).isEqualTo(REQUESTS);
    // The maximum is 87.5 %. A busy machine may deliver requests in another order.
    assertThat(together.hitPercent()).isBetween(75.0, 87.5);
    assertThat(together.requests()).allSatisfy(count -> assertThat(count).isBetween(16L, 48L));
    assertThat(scattered.hitPercent()).isLessThan(60);
    assertThat(scattered.misses()).anyMatch(miss -> miss.startsWith("hit rate: "));
  }

  private static long sum(List<Long> counts) {
    return counts.stream().mapToLong(Long::longValue).sum();
  }

  @Test
  void theCheckNamesSpreadHitsAndFailures() {
    assertThat(new BestOfNRow("r", List.of(64L, 62L, 66L, 64L), 86, 0).misses()).isEmpty();
    assertThat(new BestOfNRow("r", List.of(64L, 61L, 67L, 64L), 86, 0).misses())
        .containsExactly("requests per worker: [64, 61, 67, 64] (expected: 64 +- 2)");
    assertThat(new BestOfNRow("r", List.of(64L, 64L, 64L, 64L), 85.9, 2).misses())
        .containsExactly(
            "hit rate: 85.9 % (expected: at least 86 %)", "failures: 2 (expected: none)");
  }
}
