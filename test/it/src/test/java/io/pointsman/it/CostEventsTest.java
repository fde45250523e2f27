package io.pointsman.it;

import static io.pointsman.it.support.Announcements.awaitBlocks;
import static io.pointsman.it.support.Announcements.awaitFollowed;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import java.io.IOException;
import java.net.URI;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * {@code cost} over engines with KV events, over sockets: prompts sent by another proxy, with
 * losses and over a restart.
 */
@Tag("full")
final class CostEventsTest {
  private static final Pattern CACHED = Pattern.compile("\"cached_tokens\":\\s*(\\d+)");
  private static final int BLOCK = 16;

  /** Computing this many blocks takes longer than the difference that {@code cost} ignores. */
  private static final int BLOCKS = 250;

  private static final int TOKENS = BLOCKS * BLOCK;

  private static Cluster cluster(int engines, EventOptions events) throws IOException {
    return Cluster.of(engines)
        .policy("cost")
        .set("kv-events.mode", "auto")
        .engines(engine -> engine.withKvMemory(8192, BLOCK).withEvents(events))
        .start();
  }

  private static String ids(long seed) {
    return new SplittableRandom(seed)
        .ints(TOKENS + 1, 1, 30_000)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining(","));
  }

  private static HttpAnswer ask(int port, long prompt) throws IOException {
    String body =
        "{\"model\":\"%s\",\"max_tokens\":1,\"prompt\":[%s]}".formatted(Cluster.MODEL, ids(prompt));
    HttpAnswer answer = RawClient.call(port, "POST", "/v1/completions", body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer;
  }

  /** Sends a prompt to an engine past the router. */
  private static void bring(SimEngine engine, long prompt) throws IOException {
    ask(URI.create(engine.url()).getPort(), prompt);
  }

  private static void faults(SimEngine engine, String faults) throws IOException {
    int port = URI.create(engine.url()).getPort();
    assertThat(RawClient.call(port, "POST", "/sim/kv-events", faults).status()).isEqualTo(200);
  }

  private static void assertFoundOn(SimEngine engine, Cluster cluster, long prompt)
      throws IOException {
    HttpAnswer answer = ask(cluster.port(), prompt);
    assertThat(answer.header("x-engine-id")).isEqualTo(engine.id());
    Matcher found = CACHED.matcher(answer.text());
    assertThat(found.find() ? Integer.parseInt(found.group(1)) : 0).isEqualTo(TOKENS);
  }

  @ParameterizedTest
  @EnumSource(EventFormat.class)
  void promptsSentByAnotherProxyAreFound(EventFormat format) throws Exception {
    try (Cluster cluster = cluster(4, EventOptions.of(format))) {
      awaitFollowed(cluster);
      for (int i = 0; i < 4; i++) {
        bring(cluster.engine(i), i);
      }
      awaitBlocks(cluster, 4 * BLOCKS);
      for (int i = 0; i < 4; i++) {
        assertFoundOn(cluster.engine(i), cluster, i);
      }
    }
  }

  @Test
  void lostAndReplayedBatchesAreFound() throws Exception {
    try (Cluster cluster = cluster(2, EventOptions.of(EventFormat.VLLM))) {
      awaitFollowed(cluster);
      for (SimEngine engine : cluster.engines()) {
        faults(engine, "{\"loss\":0.5}");
      }
      for (int i = 0; i < 20; i++) {
        bring(cluster.engine(i % 2), i);
      }
      for (SimEngine engine : cluster.engines()) {
        faults(engine, "{}");
      }
      // The next batches reveal that others are missing.
      bring(cluster.engine(0), 20);
      bring(cluster.engine(1), 21);
      awaitBlocks(cluster, 22 * BLOCKS);
      for (int i = 0; i < 22; i++) {
        assertFoundOn(cluster.engine(i % 2), cluster, i);
      }
      assertThat(cluster.router().metric("pointsman_kv_event_gaps_total", "")).isPositive();
    }
  }

  @Test
  void theRoutersPlacementsAreFoundAfterAGapWithoutReplay() throws Exception {
    try (Cluster cluster = cluster(1, EventOptions.of(EventFormat.VLLM).withoutReplay())) {
      SimEngine engine = cluster.engine(0);
      WaitFor.until("a subscriber", WaitFor.LONG, () -> engine.events().subscribers() == 1);
      ask(cluster.port(), 1);
      awaitBlocks(cluster, BLOCKS);
      faults(engine, "{\"loss\":1}");
      bring(engine, 2);
      faults(engine, "{}");
      bring(engine, 3);
      WaitFor.until(
          "the gap is noticed",
          WaitFor.LONG,
          () -> cluster.router().metric("pointsman_kv_event_resets_total", "reason=\"gap\"") > 0);
      double lost = cluster.router().metric("pointsman_cache_miss_tokens_total", "");

      assertFoundOn(engine, cluster, 1);
      assertThat(cluster.router().metric("pointsman_cache_miss_tokens_total", "") - lost)
          .as("it was expected to be found")
          .isLessThan(BLOCK);
    }
  }

  /** Recent placements count as cached, except those on a restarted engine. */
  @Test
  void restartedEngineCountsAsEmpty() throws Exception {
    int prompts = 8;
    try (Cluster cluster = cluster(2, EventOptions.of(EventFormat.VLLM))) {
      awaitFollowed(cluster);
      SimEngine dies = cluster.engine(0);
      SimEngine lives = cluster.engine(1);
      cluster.worker(lives).drain(true);
      for (int i = 0; i < prompts; i++) {
        ask(cluster.port(), i);
        bring(lives, i);
      }
      awaitBlocks(cluster, 2 * prompts * BLOCKS);
      cluster.worker(lives).drain(false);
      dies.stop();
      dies.restart();
      awaitBlocks(cluster, prompts * BLOCKS);
      cluster.awaitAllServe();

      for (int i = 0; i < prompts; i++) {
        assertFoundOn(lives, cluster, i);
      }
    }
  }
}
