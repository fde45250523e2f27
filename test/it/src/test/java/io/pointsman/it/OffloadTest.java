package io.pointsman.it;

import static io.pointsman.it.support.Announcements.awaitBlocks;
import static io.pointsman.it.support.Announcements.awaitFollowed;
import static io.pointsman.it.support.Announcements.chosen;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.cache.OffloadTier;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import java.io.IOException;
import java.net.URI;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Engines that offload evicted blocks to another tier and publish it, over sockets. The credit of
 * the tier decides between an engine with the whole prompt there and one with a part on its device.
 */
@Tag("full")
final class OffloadTest {
  private static final Pattern CACHED = Pattern.compile("\"cached_tokens\":\\s*(\\d+)");
  private static final int BLOCK = 16;
  private static final int DEVICE_BLOCKS = 1024;

  /** Blocks of each prompt; a fifth of them is a difference that {@code cost} respects. */
  private static final int BLOCKS = 400;

  private static final int FILLER = 100;

  private static Cluster.Setup setup(String policy, EventFormat format, OffloadTier tier) {
    return Cluster.of(2)
        .policy(policy)
        .set("kv-events.mode", "auto")
        .set("cost.tie-millis", 1)
        .engines(
            engine ->
                engine
                    .withKvMemory(DEVICE_BLOCKS, BLOCK)
                    .withEvents(EventOptions.of(format).withOffload(tier, 4 * DEVICE_BLOCKS)));
  }

  /** The first blocks of a prompt, and one more token. */
  private static String body(long prompt, int blocks) {
    String ids =
        new SplittableRandom(prompt)
            .ints(1L + (long) blocks * BLOCK, 1, 30_000)
            .mapToObj(Integer::toString)
            .collect(Collectors.joining(","));
    return "{\"model\":\"%s\",\"max_tokens\":1,\"prompt\":[%s]}".formatted(Cluster.MODEL, ids);
  }

  private static HttpAnswer ask(int port, String body) throws IOException {
    HttpAnswer answer = RawClient.call(port, "POST", "/v1/completions", body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer;
  }

  private static int port(SimEngine engine) {
    return URI.create(engine.url()).getPort();
  }

  /**
   * Fills the caches. The first engine has prompts 1 and 2 on the tier and none of their blocks on
   * its device. The second has their first blocks on its device.
   */
  private static void bring(Cluster cluster, int ofFirst, int ofSecond) throws IOException {
    awaitFollowed(cluster);
    int offloads = port(cluster.engine(0));
    ask(offloads, body(1, BLOCKS));
    ask(offloads, body(2, BLOCKS));
    ask(offloads, body(FILLER, DEVICE_BLOCKS - 1));
    int holds = port(cluster.engine(1));
    ask(holds, body(1, ofFirst));
    ask(holds, body(2, ofSecond));
    awaitBlocks(cluster, 2 * BLOCKS + DEVICE_BLOCKS - 1 + ofFirst + ofSecond);
  }

  /** A fifth of the prompt less than the tier's default credit on the device, and a fifth more. */
  @ParameterizedTest
  @CsvSource({
    "kv_aware, VLLM, HOST, 240, 400",
    "kv_aware, VLLM, DISK, 40, 200",
    "kv_aware, VLLM, EXTERNAL, 160, 320",
    "kv_aware, VLLM_MAP, HOST, 240, 400",
    "kv_aware, VLLM_MAP, DISK, 40, 200",
    "kv_aware, VLLM_MAP, EXTERNAL, 160, 320",
    "kv_aware, SGLANG, HOST, 240, 400",
    "kv_aware, SGLANG, DISK, 40, 200",
    "kv_aware, SGLANG, EXTERNAL, 160, 320",
    "cost, VLLM_MAP, HOST, 240, 400",
    "cost, VLLM_MAP, DISK, 40, 200",
    "cost, SGLANG, EXTERNAL, 160, 320"
  })
  void creditDecidesBetweenATierAndAPartOnADevice(
      String policy, EventFormat format, OffloadTier tier, int less, int more) throws Exception {
    try (Cluster cluster = setup(policy, format, tier).start()) {
      bring(cluster, less, more);
      assertThat(chosen(cluster, body(1, BLOCKS))).isSameAs(cluster.engine(0));
      assertThat(chosen(cluster, body(2, BLOCKS))).isSameAs(cluster.engine(1));
    }
  }

  @ParameterizedTest
  @EnumSource(OffloadTier.class)
  void tierWithoutCreditAttractsNoRequests(OffloadTier tier) throws Exception {
    Cluster.Setup setup = setup("kv_aware", EventFormat.VLLM_MAP, tier);
    try (Cluster cluster = setup.set("kv-aware." + tier.label() + "-credit", 0).start()) {
      bring(cluster, 40, 40);
      assertThat(chosen(cluster, body(1, BLOCKS))).isSameAs(cluster.engine(1));
    }
  }

  @ParameterizedTest
  @EnumSource(EventFormat.class)
  void offloadedBlocksAreLoadedForTheirPrompt(EventFormat format) throws Exception {
    try (Cluster cluster = setup("kv_aware", format, OffloadTier.HOST).start()) {
      bring(cluster, 40, 40);
      HttpAnswer answer = ask(cluster.port(), body(1, BLOCKS));
      assertThat(answer.header("x-engine-id")).isEqualTo(cluster.engine(0).id());
      Matcher found = CACHED.matcher(answer.text());
      assertThat(found.find() ? Integer.parseInt(found.group(1)) : 0).isEqualTo(BLOCKS * BLOCK);
    }
  }
}
