package io.pointsman.it.golden;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.it.split.SplitCluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The requests to prefill and decode under every protocol, byte for byte except ids and ports. */
@Timeout(180)
final class GoldenHandOversTest {
  /** Long enough for blocks of the engines; each request puts another word in front. */
  private static final String WORDS =
      "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
          + " sixteen seventeen eighteen nineteen twenty and then some more words to fill blocks";

  /** Policies choose ranks at random; the test waits for this pair. */
  private static final Pattern ONE_PAIR_OF_RANKS =
      Pattern.compile("(?s).*-- prefill\n.*-rank: 0\n.*-- decode\n.*-rank: 1\n.*");

  private static final String CHAT = "/v1/chat/completions";

  @ParameterizedTest
  @EnumSource
  void bothEnginesReceiveTheRequestsOfTheProtocol(KvConnector connector) throws IOException {
    SplitCluster.Setup setup = SplitCluster.telling(connector);
    if (connector == KvConnector.LMCACHE) {
      setup.options(options -> options.withRanks(2, 1));
    }
    try (SplitCluster cluster = setup.start()) {
      cluster.awaitSplit(8);
      HandOverText text = new HandOverText(cluster);
      askOnEveryRoute(text);
      GoldenFile.compare("handover-" + connector.label() + ".txt", text.text());
    }
  }

  private static void askOnEveryRoute(HandOverText text) throws IOException {
    String odd = ",\"x_odd\":[1.50, 1e3,{\"a\" : null}],";
    text.ask(
        "chat",
        CHAT,
        "{ \"model\":\"sim\"," + messages("chat") + odd + "\"max_tokens\":5,\"min_tokens\":2}",
        "x-request-id: mine-1",
        "authorization: Bearer mine",
        "X-Tenant: t1");
    text.ask(
        "chat, streamed, with both limits",
        CHAT + "?trace=1",
        "{\"model\":\"sim\","
            + messages("streamed")
            + ",\"max_completion_tokens\":5,\"max_tokens\":5,\"stream\":true,"
            + "\"stream_options\":{\"include_usage\":true}}",
        "x-request-id: mine-2",
        "x-data-parallel-rank: 7",
        "connection: keep-alive, x-hop",
        "x-hop: 1");
    text.ask(
        "completion, streamed",
        "/v1/completions",
        "{\"model\":\"sim\"," + prompt("completion") + ",\"max_tokens\":5,\"stream\":true}",
        "x-request-id: mine-3");
    text.ask(
        "completion of token ids",
        "/v1/completions",
        "{\"model\":\"sim\",\"prompt\":[" + ids(100) + "],\"max_tokens\":5,\"top_p\":1.50}",
        "x-request-id: mine-4");
    text.ask(
        "response",
        "/v1/responses",
        "{\"model\":\"sim\",\"input\":\"response " + WORDS + "\",\"max_output_tokens\":5}",
        "x-request-id: mine-5");
    text.ask(
        "message, streamed",
        "/v1/messages",
        "{\"model\":\"sim\"," + messages("message") + ",\"max_tokens\":5,\"stream\":true}",
        "x-request-id: mine-6",
        "anthropic-version: 2023-06-01");
    text.ask(
        "generate",
        "/generate",
        "{\"model\":\"sim\",\"text\": \"generate "
            + WORDS
            + "\",\"sampling_params\":{\"max_new_tokens\": 5,\"min_new_tokens\":2}}",
        "x-request-id: mine-7");
    text.ask(
        "generate of token ids",
        "/inference/v1/generate",
        "{\"model\":\"sim\",\"token_ids\":["
            + ids(200)
            + "],\"sampling_params\":{\"min_tokens\":2,\"seed\":7,\"max_tokens\":5}}",
        "x-request-id: mine-8");
    text.ask(
        "chat with hand-over fields of the client",
        CHAT,
        "{\"model\":\"sim\","
            + messages("foreign")
            + ",\"max_tokens\":5,\"kv_transfer_params\":{\"do_remote_prefill\":true,"
            + "\"lmcache.tag\":\"a\"},\"bootstrap_host\":\"h\",\"bootstrap_room\":1,"
            + "\"disagg_prefill_resp\":{},\"request_id\":\"r\",\"routed_dp_rank\":1,"
            + "\"vllm_xargs\":{\"kv_transfer_params\":{},\"k\":1}}",
        "x-request-id: ___prefill_addr_a:1___decode_addr_b:2_0");
  }

  private static String messages(String first) {
    return "\"messages\" : [{\"role\":\"user\", \"content\":\"" + first + " " + WORDS + "\"}]";
  }

  private static String prompt(String first) {
    return "\"prompt\":\"" + first + " " + WORDS + "\"";
  }

  private static String ids(int from) {
    return IntStream.range(from, from + 40)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining(", "));
  }

  @ParameterizedTest
  @EnumSource(names = {"NIXL", "SGLANG"})
  void bothEnginesReceiveTheRankOfTheirWorker(KvConnector connector) throws IOException {
    try (SplitCluster cluster =
        SplitCluster.telling(connector)
            .ranks(2)
            .set("prefill-policy", "random")
            .set("decode-policy", "random")
            .start()) {
      String text = askForARank(cluster);
      while (!ONE_PAIR_OF_RANKS.matcher(text).matches()) {
        text = askForARank(cluster);
      }
      GoldenFile.compare("handover-" + connector.label() + "-ranks.txt", text);
    }
  }

  private static String askForARank(SplitCluster cluster) throws IOException {
    HandOverText text = new HandOverText(cluster);
    String body = "{\"model\":\"sim\"," + prompt("rank") + ",\"max_tokens\":5}";
    text.ask("completion", "/v1/completions", body, "x-request-id: mine-1");
    return text.text();
  }

  @Test
  void theNextTurnFetchesTheBlocksThatDecodeHolds() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("nixl", KvConnector.NIXL)
            .options(options -> options.withBidirectional(true).withParamsInStreams(true))
            .set("turn-ttl", "450s")
            .start()) {
      HandOverText text = new HandOverText(cluster);
      String question = "{\"role\":\"user\",\"content\":\"turn " + WORDS + "\"}";
      String session = "x-session-id: s1";
      HttpAnswer first =
          text.ask("first turn", CHAT, turns(question), session, "x-request-id: mine-1");
      String said =
          new ObjectMapper().readTree(first.text()).at("/choices/0/message/content").asText();
      String answer = "{\"role\":\"assistant\",\"content\":\"" + said + "\"}";
      String more = turns(question, answer, "{\"role\":\"user\",\"content\":\"and why?\"}");
      text.ask("second turn", CHAT, more, session, "x-request-id: mine-2");
      GoldenFile.compare("handover-nixl-turns.txt", text.text());
      // Decode keeps blocks for a third turn; they end with it.
      cluster.decodes.forEach(SimEngine::stop);
    }
  }

  private static String turns(String... messages) {
    return "{\"model\":\"sim\",\"max_tokens\":20,\"messages\":["
        + String.join(",", messages)
        + "]}";
  }
}
