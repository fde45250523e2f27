package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Requests that two workers would answer wrongly go to one worker, byte for byte, under every
 * protocol.
 */
@Timeout(180)
@Tag("full")
final class PastPrefillTest {
  /** A route and a request that only one worker can serve. */
  private record Asked(String path, String body) {
    static List<Asked> all(KvConnector connector) {
      // Decode engines find the blocks of each prompt by content, so several are split.
      return all().stream()
          .filter(each -> connector != KvConnector.NONE || !each.body.startsWith("\"prompt\":["))
          .toList();
    }

    private static List<Asked> all() {
      List<Asked> all = new ArrayList<>();
      for (String more :
          List.of(
              "\"n\":2",
              "\"best_of\":3",
              "\"use_beam_search\":true",
              "\"echo\":true",
              "\"echo\":true,\"logprobs\":1",
              "\"prompt_logprobs\":0")) {
        all.add(new Asked("/v1/completions", "\"prompt\":\"%s\"," + more));
      }
      all.add(new Asked("/v1/completions", "\"prompt\":[\"%1$s\",\"and %1$s\"]"));
      all.add(new Asked("/v1/completions", "\"prompt\":[[1,2,3],[4,5,6]]"));
      for (String more : List.of("\"n\":2", "\"use_beam_search\":true", "\"prompt_logprobs\":1")) {
        all.add(
            new Asked(
                "/v1/chat/completions",
                "\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]," + more));
      }
      for (String more :
          List.of(
              "\"sampling_params\":{\"n\":2,\"max_new_tokens\":3}",
              "\"return_logprob\":true,\"logprob_start_len\":0")) {
        all.add(new Asked("/generate", "\"text\":\"%s\"," + more));
      }
      for (String more : List.of("\"n\":2", "\"prompt_logprobs\":1")) {
        all.add(
            new Asked(
                "/inference/v1/generate",
                "\"token_ids\":[1,2,3],\"sampling_params\":{\"max_tokens\":3," + more + "}"));
      }
      all.add(new Asked("/v1/responses", "\"input\":\"%s\",\"background\":true"));
      return all;
    }

    String sent() {
      return "{ \"model\":\"sim\",\"max_tokens\":3, " + body.formatted(PeerRig.PROMPT) + "}";
    }
  }

  private static final String ANSWER = "{\"id\":\"whole\",\"choices\":[]}";

  @ParameterizedTest
  @EnumSource
  void itGoesToOneWorkerUnchanged(KvConnector connector) throws IOException {
    EngineScript script = new Faults.Healthy("sim", new Faults.Answer(200, ANSWER));
    try (ScriptedEngine whole = ScriptedEngine.start(script);
        PeerRig rig =
            new PeerRig(
                connector, 1, 1, true, o -> o.withLogged(1000), WorkerSpec.of(whole.url()))) {
      for (Asked asked : Asked.all(connector)) {
        int before = whole.requests().size();
        HttpAnswer answer = rig.ask(asked.path(), asked.sent());
        assertThat(answer.status()).as(asked + answer.text()).isEqualTo(200);
        assertThat(answer.text()).isEqualTo(ANSWER);
        assertThat(answer.header("x-pointsman-split")).as(asked + "").isEqualTo("unsplittable");
        assertThat(whole.requests().stream().skip(before).filter(r -> r.line().startsWith("POST ")))
            .as(asked + "")
            .extracting(EngineRequest::line, EngineRequest::bodyText)
            .containsExactly(tuple("POST " + asked.path() + " HTTP/1.1", asked.sent()));
      }
      assertThat(rig.prefillEngines().getFirst().requestLog()).isEmpty();
      assertThat(rig.decodeEngines().getFirst().requestLog()).isEmpty();
    }
  }
}
