package io.pointsman.it.split;

import static io.pointsman.it.split.SplitCluster.body;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.RequestLog.Logged;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** LMCache with a prompt of token ids: the first token comes once, from prefill. */
@Timeout(180)
@Tag("full")
final class LmcacheFirstTokenTest {
  /** Notifications are missing here, so decode starts after the wait. */
  private static final String SETTINGS =
      """
        protocol: lmcache
        notification-address: "127.0.0.1:0"
        notification-wait: 1ms
        receiver: "127.0.0.1/8300/8400"
      """;

  private static String prefilled(String finish) {
    return "{\"id\":\"p\",\"object\":\"text_completion\",\"choices\":[{\"index\":0,\"text\":\"Fi\\u0072st\\n"
               + "\",\"finish_reason\":\""
        + finish
        + "\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1,\"total_tokens\":4},"
        + "\"kv_transfer_params\":{\"first_tok\":22691}}";
  }

  private static String asked(boolean stream) {
    return "{\"model\":\"sim\",\"prompt\":[128000,"
        + " 9906,11],\"max_tokens\":200,\"top_p\":1.50,\"stream\":"
        + stream
        + "}";
  }

  private static String continued(boolean stream) {
    return "{\"model\":\"sim\",\"prompt\":[128000,"
        + " 9906,11,22691],\"max_tokens\":199,\"top_p\":1.50,\"stream\":"
        + stream
        + "}";
  }

  @Test
  void wholeAnswersBeginWithTheFirstToken() throws IOException {
    Faults.Answer decoded =
        new Faults.Answer(
            200,
            "{\"id\":\"d\",\"choices\":[{\"index\":0,\"text\":\""
                + " second\",\"finish_reason\":\"length\"}],"
                + "\"usage\":{\"prompt_tokens\":4,\"total_tokens\":203,\"completion_tokens\":199}}");
    try (ScriptedPair pair = new ScriptedPair(SETTINGS, prefilled("length"), decoded)) {
      HttpAnswer answer = pair.post("/v1/completions", asked(false));
      assertThat(pair.decodeBodies()).containsExactly(continued(false));
      assertThat(answer.text())
          .isEqualTo(
              "{\"id\":\"d\",\"choices\":[{\"index\":0,\"text\":\"Fi\\u0072st\\n"
                  + " second\",\"finish_reason\":\"length\"}],"
                  + "\"usage\":{\"prompt_tokens\":3,\"total_tokens\":203,\"completion_tokens\":200}}");
    }
  }

  @Test
  void streamsBeginWithTheFirstToken() throws IOException {
    Faults.EventStream decoded =
        new Faults.EventStream(
            List.of(
                "{\"choices\":[{\"index\":0,\"text\":\" second\"}]}",
                "{\"choices\":[{\"index\":0,\"text\":\" third\"}]}",
                "{\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}"));
    try (ScriptedPair pair = new ScriptedPair(SETTINGS, prefilled("length"), decoded)) {
      HttpAnswer answer = pair.post("/v1/completions", asked(true));
      assertThat(pair.decodeBodies()).containsExactly(continued(true));
      assertThat(answer.text())
          .isEqualTo(
              "data: {\"choices\":[{\"index\":0,\"text\":\"Fi\\u0072st\\n"
                  + " second\"}]}\n\n"
                  + "data: {\"choices\":[{\"index\":0,\"text\":\" third\"}]}\n\n"
                  + "data:"
                  + " {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":3}}\n\n"
                  + "data: [DONE]\n\n");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void decodeGetsNoRequestForACompleteResponse(boolean stream) throws IOException {
    try (ScriptedPair pair =
        new ScriptedPair(SETTINGS, prefilled("stop"), new Faults.Answer(500, "{}"))) {
      HttpAnswer answer = pair.post("/v1/completions", asked(stream));
      assertThat(pair.decodeBodies()).isEmpty();
      assertThat(answer.text().split("Fi\\\\u0072st", -1)).as(answer.text()).hasSize(2);
      assertThat(answer.text().endsWith("data: [DONE]\n\n")).as(answer.text()).isEqualTo(stream);
    }
  }

  /** The engines check that the prompt's last token is the one computed by prefill. */
  @Test
  void strictEnginesAcceptTheFirstToken() throws IOException {
    try (PeerRig rig = new PeerRig(KvConnector.LMCACHE, 1, 1, true, o -> o.withLogged(1000))) {
      rig.awaitSplit();
      for (boolean stream : new boolean[] {false, true}) {
        String ids = ids(1000 * PeerRig.nextCall());
        String rest = stream ? ",\"stream_options\":{\"include_usage\":true}}" : "}";
        rest = ",\"temperature\":0.50,\"stream\":" + stream + rest;
        SimEngine decode = rig.decodeEngines().getFirst();
        List<Logged> before = decode.requestLog();
        long prefills = rig.prefills();
        HttpAnswer answer =
            rig.ask(
                "/v1/completions",
                "{\"model\":\"sim\",\"prompt\":[" + ids + "],\"max_tokens\":5" + rest);
        assertThat(answer.status()).as(answer.text() + rig.reasons()).isEqualTo(200);
        assertThat(rig.prefills()).isEqualTo(prefills + 1);
        List<Logged> sent = new ArrayList<>(decode.requestLog());
        sent.removeAll(before);
        assertThat(sent).hasSize(1);
        assertThat(body(sent.getFirst()))
            .matches(
                Pattern.quote("{\"model\":\"sim\",\"prompt\":[" + ids)
                    + ",\\d+],\"max_tokens\":4"
                    + Pattern.quote(rest));
        assertThat(number(answer, "prompt_tokens")).isEqualTo(40);
        assertThat(number(answer, "completion_tokens")).isEqualTo(5);
      }
      rig.awaitNothingReserved();
    }
  }

  /** The engines refuse prefill's first token if decode's parameters could change it. */
  @Test
  void decodeMakesAllTokensOfOtherCompletions() throws IOException {
    try (PeerRig rig = new PeerRig(KvConnector.LMCACHE, 1, 1, true, o -> o.withLogged(1000))) {
      rig.awaitSplit();
      for (String more :
          List.of(
              "\"seed\":7",
              "\"stop\":[\"never\"]",
              "\"min_tokens\":3",
              "\"repetition_penalty\":1.10",
              "\"logit_bias\":{\"7\":-1}",
              "\"response_format\":{\"type\":\"json_object\"}",
              "\"guided_choice\":[\"a\",\"b\"]",
              "\"logprobs\":1",
              "\"made_up\":null")) {
        int first = 1000 * PeerRig.nextCall();
        String asked =
            "{\"model\":\"sim\",\"prompt\":[%s],\"max_tokens\":5,%s}".formatted(ids(first), more);
        List<Logged> before = rig.decodeEngines().getFirst().requestLog();
        HttpAnswer answer = rig.ask("/v1/completions", asked);
        assertThat(answer.status()).as(more + answer.text() + rig.reasons()).isEqualTo(200);
        assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
        assertThat(body(rig.prefillEngines().getFirst().requestLog().getLast()))
            .contains(Integer.toString(first), "disagg_spec")
            .doesNotContain("ret_first_tok");
        List<Logged> sent = new ArrayList<>(rig.decodeEngines().getFirst().requestLog());
        sent.removeAll(before);
        assertThat(sent).extracting(SplitCluster::body).containsExactly(asked);
        assertThat(number(answer, "prompt_tokens")).as(more).isEqualTo(40);
      }
      rig.awaitNothingReserved();
    }
  }

  private static String ids(int first) {
    return IntStream.range(first, first + 40)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining(","));
  }

  private static int number(HttpAnswer answer, String name) {
    Matcher matcher = Pattern.compile("\"" + name + "\":(\\d+)").matcher(answer.text());
    assertThat(matcher.find()).as(answer.text()).isTrue();
    return Integer.parseInt(matcher.group(1));
  }
}
