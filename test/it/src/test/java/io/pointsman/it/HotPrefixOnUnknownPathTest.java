package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.Scale;
import io.pointsman.tool.sim.SimEngine;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Many concurrent requests with one long prefix, on a transparent route. An engine has memory for
 * twice its fair share and rejects more.
 */
@Tag("full")
final class HotPrefixOnUnknownPathTest {
  private static final int ENGINES = 8;
  private static final int REQUESTS = 480;
  private static final int TWICE_FAIR = 2 * REQUESTS / ENGINES;
  private static final int BLOCK = 16;
  private static final int PREFIX_TOKENS = 4000;
  private static final int SUFFIX_TOKENS = 16;
  private static final int OUTPUT_TOKENS = 64;

  /** The prefix once, and the separate blocks of twice the fair share of requests. */
  private static final int KV_BLOCKS =
      PREFIX_TOKENS / BLOCK + TWICE_FAIR * (SUFFIX_TOKENS + OUTPUT_TOKENS + BLOCK) / BLOCK;

  @Test
  void sharedPrefixSpreadsOverAllEngines() throws Exception {
    try (Cluster cluster = eightEngines()) {
      long start = System.nanoTime();
      List<HttpAnswer> answers =
          ConcurrentClients.of(
              REQUESTS,
              i -> () -> RawClient.call(cluster.port(), "POST", "/custom/generate", body(i)));
      double seconds = (System.nanoTime() - start) / 1e9;

      assertThat(answers).allSatisfy(answer -> assertThat(answer.status()).isEqualTo(200));
      List<Long> received =
          cluster.engines().stream().map(e -> e.state().requests().received()).toList();
      Scale.report(
          "hot prefix",
          "received per engine %s, fair %d, %.1f s".formatted(received, TWICE_FAIR / 2, seconds));
      assertThat(received).allSatisfy(count -> assertThat(count).isLessThanOrEqualTo(TWICE_FAIR));
      assertThat(cluster.engines())
          .allSatisfy(engine -> assertThat(engine.state().rejectedInAll()).isZero());
      assertThat(cluster.engines()).allSatisfy(HotPrefixOnUnknownPathTest::prefixWasReused);
    }
  }

  /** Requests that arrive while an engine computes the prefix for the first time are misses. */
  private static void prefixWasReused(SimEngine engine) {
    assertThat(engine.state().tokens().hitRate()).isGreaterThan(0.5);
  }

  private static Cluster eightEngines() throws Exception {
    return Cluster.of(ENGINES)
        .policy("cache_aware")
        .engines(
            sim ->
                sim.withKvMemory(KV_BLOCKS, BLOCK)
                    .withQueueLimits(TWICE_FAIR, 0)
                    .withLinearLatency(200_000, 40))
        .start();
  }

  private static String body(int request) {
    String prefix =
        IntStream.range(0, PREFIX_TOKENS)
            .mapToObj(i -> Integer.toString(1000 + i * 7 % 5003))
            .collect(Collectors.joining(","));
    String suffix =
        IntStream.range(0, SUFFIX_TOKENS)
            .mapToObj(i -> Integer.toString(10_000 + request * 31 + i))
            .collect(Collectors.joining(","));
    return "{\"token_ids\":[%s,%s],\"sampling_params\":{\"max_tokens\":%d}}"
        .formatted(prefix, suffix, OUTPUT_TOKENS);
  }
}
