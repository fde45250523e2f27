package io.pointsman.it;

import static io.pointsman.it.support.Announcements.awaitBlocks;
import static io.pointsman.it.support.Announcements.awaitFollowed;
import static io.pointsman.it.support.Announcements.chosen;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import java.io.IOException;
import java.net.URI;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Published blocks that depend on more than token ids, over sockets: images, salts and adapters.
 * One engine has a whole prompt with one of these. Another has the first half of the same ids
 * without it; a prompt of plain ids must go there.
 */
@Tag("full")
final class PlainBlocksTest {
  private static final Pattern TOKENS = Pattern.compile("\"tokens\":\\[([^\\]]*)\\]");
  private static final String ADAPTER = "polite";
  private static final int BLOCK = 16;
  private static final int BLOCKS = 40;
  private static final int PLAIN_BLOCKS = 7;
  private static final String IMAGE =
      """
      [{"role":"user","content":[
        {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},
        {"type":"text","text":"%s"}]}]\
      """
          .formatted("What is to be seen here? ".repeat(100));

  private static Cluster cluster(EventFormat format) throws IOException {
    Cluster cluster =
        Cluster.of(2)
            .policy("kv_aware")
            .set("kv-events.mode", "auto")
            .engines(
                engine ->
                    engine
                        .withModels(Cluster.MODEL, ADAPTER)
                        .withKvMemory(4096, BLOCK)
                        .withEvents(EventOptions.of(format)))
            .start();
    awaitFollowed(cluster);
    return cluster;
  }

  private static int[] ids(long seed, int blocks) {
    return new SplittableRandom(seed).ints(1L + (long) blocks * BLOCK, 1, 30_000).toArray();
  }

  private static String body(String model, int[] ids, String more) {
    String list = Arrays.stream(ids).mapToObj(Integer::toString).collect(Collectors.joining(","));
    return "{\"model\":\"%s\",\"max_tokens\":1,\"prompt\":[%s]%s}".formatted(model, list, more);
  }

  private static String plain(int[] ids) {
    return body(Cluster.MODEL, ids, "");
  }

  private static HttpAnswer call(SimEngine engine, String path, String body) throws IOException {
    HttpAnswer answer = RawClient.call(URI.create(engine.url()).getPort(), "POST", path, body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer;
  }

  /** Sends the half past the router. The last prompt shows that all earlier events have arrived. */
  private static void bringHalf(Cluster cluster, int[] ids, int known) throws IOException {
    int half = BLOCKS / 2;
    call(cluster.engine(1), "/v1/completions", plain(Arrays.copyOf(ids, half * BLOCK + 1)));
    call(cluster.engine(0), "/v1/completions", plain(ids(99, PLAIN_BLOCKS)));
    awaitBlocks(cluster, known + half + PLAIN_BLOCKS);
  }

  /**
   * vLLM represents images by equal ids and distinguishes them by extra keys; SGLang by their ids.
   */
  @ParameterizedTest
  @EnumSource(EventFormat.class)
  void imageNeverMatchesTheSameIdsInAPlainPrompt(EventFormat format) throws Exception {
    try (Cluster cluster = cluster(format)) {
      String chat =
          "{\"model\":\"%s\",\"max_tokens\":1,\"messages\":%s}".formatted(Cluster.MODEL, IMAGE);
      HttpAnswer answer = call(cluster.engine(0), "/tokenize", chat);
      Matcher tokens = TOKENS.matcher(answer.text());
      assertThat(tokens.find()).as(answer.text()).isTrue();
      int[] ids = Arrays.stream(tokens.group(1).split(",")).mapToInt(Integer::parseInt).toArray();
      assertThat(ids).hasSizeGreaterThan(BLOCKS * BLOCK);
      call(cluster.engine(0), "/v1/chat/completions", chat);
      // The image is in the first block, so none of vLLM's blocks can match.
      bringHalf(cluster, ids, format == EventFormat.SGLANG ? ids.length / BLOCK : 0);

      assertThat(chosen(cluster, plain(ids))).isSameAs(cluster.engine(1));
    }
  }

  @ParameterizedTest
  @EnumSource(EventFormat.class)
  void saltedPromptNeverMatchesTheSameIdsWithoutASalt(EventFormat format) throws Exception {
    try (Cluster cluster = cluster(format)) {
      int[] ids = ids(1, BLOCKS);
      String salted = body(Cluster.MODEL, ids, ",\"cache_salt\":\"mine\"");
      call(cluster.engine(0), "/v1/completions", salted);
      bringHalf(cluster, ids, 0);

      assertThat(chosen(cluster, plain(ids))).isSameAs(cluster.engine(1));
    }
  }

  /** SGLang does not report adapters. */
  @ParameterizedTest
  @EnumSource(
      value = EventFormat.class,
      names = {"VLLM", "VLLM_MAP"})
  void adaptersPromptMatchesUnderItsNameAlone(EventFormat format) throws Exception {
    try (Cluster cluster = cluster(format)) {
      int[] ids = ids(1, BLOCKS);
      call(cluster.engine(0), "/v1/completions", body(ADAPTER, ids, ""));
      bringHalf(cluster, ids, BLOCKS);

      assertThat(chosen(cluster, plain(ids))).isSameAs(cluster.engine(1));
      assertThat(chosen(cluster, body(ADAPTER, ids, ""))).isSameAs(cluster.engine(0));
    }
  }
}
