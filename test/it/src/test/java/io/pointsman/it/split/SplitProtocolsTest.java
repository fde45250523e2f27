package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.prefillsEnded;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every protocol on every route, streamed and not: one prefill, one decode, and the response of a
 * single engine.
 */
@Tag("full")
class SplitProtocolsTest {
  static final String WORDS =
      "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
          + " sixteen seventeen eighteen nineteen twenty and then some more words to fill blocks";

  /** A route with a request for five tokens. */
  enum Route {
    CHAT("/v1/chat/completions", "\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]"),
    COMPLETIONS("/v1/completions", "\"prompt\":\"%s\""),
    RESPONSES("/v1/responses", "\"input\":\"%s\""),
    MESSAGES("/v1/messages", "\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]"),
    GENERATE("/generate", "\"text\":\"%s\""),
    TOKEN_GENERATE("/inference/v1/generate", "");

    final String path;
    private final String prompt;

    Route(String path, String prompt) {
      this.path = path;
      this.prompt = prompt;
    }

    String body(boolean stream) {
      String streamed = ",\"seed\":7,\"stream\":" + stream;
      return switch (this) {
        case TOKEN_GENERATE ->
            "{\"model\":\"sim\",\"token_ids\":"
                + tokens()
                + ",\"sampling_params\":{\"max_tokens\":5,\"seed\":7}"
                + streamed
                + "}";
        case RESPONSES ->
            "{\"model\":\"sim\","
                + prompt.formatted(WORDS)
                + ",\"max_output_tokens\":5"
                + streamed
                + "}";
        case GENERATE ->
            "{\"model\":\"sim\","
                + prompt.formatted(WORDS)
                + ",\"sampling_params\":{\"max_new_tokens\":5}"
                + streamed
                + "}";
        case CHAT, COMPLETIONS, MESSAGES ->
            "{\"model\":\"sim\"," + prompt.formatted(WORDS) + ",\"max_tokens\":5" + streamed + "}";
      };
    }

    private static List<Integer> tokens() {
      List<Integer> ids = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        ids.add(1000 + i);
      }
      return ids;
    }
  }

  @ParameterizedTest
  @EnumSource
  void everyRouteIsSplit(KvConnector spoken) throws IOException {
    try (SplitCluster cluster = SplitCluster.telling(spoken).direct().start();
        SimEngine alone =
            SimEngine.start(SimConfig.instant().withModels("sim").withScaleOut(true))) {
      cluster.awaitSplit(8);
      double before = cluster.metric("pointsman_pd_decisions_total", "rule=\"split\"");
      double done = prefillsEnded(cluster, "done");
      int sent = 0;
      for (Route route : Route.values()) {
        for (boolean stream : new boolean[] {false, true}) {
          sent++;
          HttpAnswer answer =
              cluster.post(route.path, route.body(stream), "x-request-id: mine-" + sent);
          String what = spoken + " " + route + " stream " + stream + ": " + answer.text();
          assertThat(answer.status()).as(what).isEqualTo(200);
          assertThat(answer.complete()).as(what).isTrue();
          assertThat(answer.header("x-request-id")).as(what).isEqualTo("mine-" + sent);
          assertThat(answer.header("x-pointsman-split")).as(what).isEqualTo("split");
          String generated = texts(answer);
          if (route != Route.MESSAGES && route != Route.GENERATE) {
            // These routes have no seed.
            assertThat(generated).as(what).isEqualTo(texts(direct(alone, route, stream)));
          }
          assertThat(cluster.prefills.getFirst().kvState().steps().prefill())
              .as(what)
              .isEqualTo(sent);
          assertThat(cluster.decodes.getFirst().kvState().steps().decode())
              .as(what)
              .isEqualTo(sent);
        }
      }
      cluster.awaitQuiet();
      assertThat(cluster.metric("pointsman_pd_decisions_total", "rule=\"split\""))
          .isEqualTo(before + sent);
      assertThat(prefillsEnded(cluster, "done")).isEqualTo(done + sent);
    }
  }

  private static HttpAnswer direct(SimEngine engine, Route route, boolean stream)
      throws IOException {
    return RawClient.call(engine.port(), "POST", route.path, route.body(stream));
  }

  private static final Pattern TEXT =
      Pattern.compile(
          "\"(?:content|text|delta|token_ids)\":(\"(?:[^\"\\\\]|\\\\.)*\"|\\[[0-9,]*])");

  /** The generated text, independent of its division into pieces. */
  private static String texts(HttpAnswer answer) {
    Matcher matcher = TEXT.matcher(answer.text());
    StringBuilder found = new StringBuilder();
    while (matcher.find()) {
      String piece = matcher.group(1);
      found.append(piece, 1, piece.length() - 1).append(piece.startsWith("[") ? "," : "");
    }
    assertThat(found.toString()).as(answer.text()).isNotEmpty();
    return found.toString();
  }
}
