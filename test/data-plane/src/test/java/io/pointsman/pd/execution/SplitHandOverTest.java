package io.pointsman.pd.execution;

import static io.pointsman.pd.execution.SplitRig.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.WireResponse;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The handover behind the client's answer after a decode worker has failed. These decode engines
 * refuse none; each answers with the handover's number. A real engine may likewise find another
 * prompt's blocks in place of freed ones.
 */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SplitHandOverTest {
  /** Failure of a decode engine that has read the complete request. */
  enum AfterReading {
    ERROR,
    RESET,
    RESET_BEHIND_HEAD;

    EngineScript script() {
      return switch (this) {
        case ERROR -> new Answer(500, "{\"error\":{}}");
        case RESET -> (_, connection) -> connection.reset();
        case RESET_BEHIND_HEAD -> (_, connection) -> connection.beginEvents().reset();
      };
    }
  }

  private static EngineScript numbering() {
    AtomicInteger handOvers = new AtomicInteger();
    return (asked, connection) ->
        new Answer(200, "{\"kv_transfer_params\":{\"n\":" + handOvers.incrementAndGet() + "}}")
            .answer(asked, connection);
  }

  private static EngineScript decoding() {
    return (asked, connection) -> {
      boolean first = asked.bodyText().contains("\"n\":1");
      new Answer(200, first ? "{\"of\":1}" : "{\"of\":2}").answer(asked, connection);
    };
  }

  @ParameterizedTest
  @EnumSource
  void aHandoverThatMayHaveBeenFetchedIsNotReused(AfterReading failure) throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(numbering());
      ScriptedEngine fails = rig.decode(failure.script());
      rig.decode(decoding());
      WireResponse response = rig.proxy.ask(request(""));

      assertThat(fails.requests()).hasSize(1);
      assertThat(response.text()).isEqualTo("{\"of\":2}");
      assertThat(prefill.requests()).hasSize(2);
      assertThat(rig.recorded).contains("HANDOVER_RECOMPUTED").doesNotContain("HANDOVER_RETAKEN");
      rig.awaitReleases();
    }
  }

  @Test
  void aHandoverThatABusyWorkerRefusedGoesToAnother() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(numbering());
      ScriptedEngine busy = rig.decode(new Answer(429, "{\"error\":{}}"));
      rig.decode(decoding());
      WireResponse response = rig.proxy.ask(request(""));

      assertThat(busy.requests()).hasSize(1);
      assertThat(response.text()).isEqualTo("{\"of\":1}");
      assertThat(prefill.requests()).hasSize(1);
      assertThat(rig.recorded).contains("HANDOVER_RETAKEN");
    }
  }

  @Test
  void aHandoverThatCouldNotBeSentGoesToAnother() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(numbering());
      ScriptedEngine gone = rig.decode(decoding());
      rig.decode(decoding());
      gone.stopListening();
      WireResponse response = rig.proxy.ask(request(""));

      assertThat(response.text()).isEqualTo("{\"of\":1}");
      assertThat(prefill.requests()).hasSize(1);
      assertThat(rig.recorded).contains("HANDOVER_RETAKEN");
    }
  }
}
