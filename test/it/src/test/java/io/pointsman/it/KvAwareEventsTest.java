package io.pointsman.it;

import static io.pointsman.it.support.Announcements.awaitBlocks;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import java.io.IOException;
import java.net.URI;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@code kv_aware} over engines with KV events, over sockets. */
final class KvAwareEventsTest {
  private static final Pattern CACHED = Pattern.compile("\"cached_tokens\":\\s*(\\d+)");
  private static final int ENGINES = 4;
  private static final int BLOCK = 16;
  private static final int CONVERSATIONS = 3 * ENGINES;

  private static Cluster cluster(String policy, EventFormat format) throws IOException {
    return Cluster.of(ENGINES)
        .policy(policy)
        .set("kv-events.mode", "auto")
        .engines(engine -> engine.withKvMemory(4096, BLOCK).withEvents(EventOptions.of(format)))
        .start();
  }

  private static String body(String ids) {
    return "{\"model\":\"%s\",\"max_tokens\":1,\"prompt\":[%s]}".formatted(Cluster.MODEL, ids);
  }

  private static String ids(long seed, int length) {
    return new SplittableRandom(seed)
        .ints(length, 1, 30_000)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining(","));
  }

  private static HttpAnswer ask(int port, String ids) throws IOException {
    HttpAnswer answer = RawClient.call(port, "POST", "/v1/completions", body(ids));
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer;
  }

  private static int cached(HttpAnswer answer) {
    Matcher found = CACHED.matcher(answer.text());
    return found.find() ? Integer.parseInt(found.group(1)) : 0;
  }

  @ParameterizedTest
  @EnumSource(EventFormat.class)
  void promptSentByAnotherProxyIsFound(EventFormat format) throws Exception {
    try (Cluster cluster = cluster("kv_aware", format)) {
      for (int engine = 0; engine < ENGINES; engine++) {
        ask(direct(cluster, engine), ids(engine, 40 * BLOCK + 1));
      }
      awaitBlocks(cluster, 40 * ENGINES);
      for (int engine = 0; engine < ENGINES; engine++) {
        HttpAnswer answer = ask(cluster.port(), ids(engine, 40 * BLOCK + 1));
        assertThat(answer.header("x-engine-id")).isEqualTo("engine-" + engine);
        assertThat(cached(answer)).isGreaterThanOrEqualTo(40 * BLOCK);
      }
    }
  }

  private static int direct(Cluster cluster, int engine) {
    return URI.create(cluster.engine(engine).url()).getPort();
  }

  @Test
  void conversationsThatBeganElsewhereHitMoreThanUnderRoundRobin() throws Exception {
    int followed;
    try (Cluster cluster = cluster("kv_aware", EventFormat.VLLM)) {
      followed = secondTurns(cluster, true);
    }
    int turned;
    try (Cluster cluster = cluster("round_robin", EventFormat.VLLM)) {
      turned = secondTurns(cluster, false);
    }
    assertThat(followed).isGreaterThan(2 * turned);
  }

  /** Cached tokens of the second turns of conversations that began past the router. */
  private static int secondTurns(Cluster cluster, boolean known) throws IOException {
    for (int i = 0; i < CONVERSATIONS; i++) {
      ask(direct(cluster, i / 3), ids(100 + i, 20 * BLOCK + 1));
    }
    if (known) {
      awaitBlocks(cluster, 20 * CONVERSATIONS);
    }
    int cached = 0;
    for (int i = 0; i < CONVERSATIONS; i++) {
      cached += cached(ask(cluster.port(), ids(100 + i, 40 * BLOCK + 1)));
    }
    return cached;
  }
}
