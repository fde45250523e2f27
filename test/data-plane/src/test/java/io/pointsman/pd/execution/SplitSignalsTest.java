package io.pointsman.pd.execution;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.EventStream;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Signals that policies learn from both workers' answers to a split request. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SplitSignalsTest {
  private static final String PREFILLED =
      "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,"
          + "\"prompt_tokens_details\":{\"cached_tokens\":7}}}";
  private static final String DECODED =
      "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5,"
          + "\"prompt_tokens_details\":{\"cached_tokens\":8}}}";

  private static void ask(SplitRig rig, String more) throws Exception {
    rig.proxy.ask(SplitRig.request(more));
    ProxyRig.await("ended", () -> !rig.proxy.ended.isEmpty());
  }

  @Test
  void prefillBeforeDecodeReportsTheFirstToken() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      rig.prefill(new Answer(200, "{\"kv_transfer_params\":{\"a\":1}," + PREFILLED));
      rig.decode(new EventStream(List.of("{\"a\":1}", "{\"choices\":[]," + DECODED)));
      ask(rig, ",\"stream\":true");

      assertThat(rig.proxy.signals)
          .containsExactly("first token", new Usage(9, 7, 1), "first token", new Usage(9, 8, 5));
    }
  }

  @Test
  void decodeInOnePieceReportsOnlyItsUsage() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      rig.prefill(new Answer(200, "{\"kv_transfer_params\":{\"a\":1}," + PREFILLED));
      rig.decode(new Answer(200, "{\"id\":\"a\"," + DECODED));
      ask(rig, "");

      assertThat(rig.proxy.signals)
          .containsExactly("first token", new Usage(9, 7, 1), new Usage(9, 8, 5));
    }
  }

  @Test
  void concurrentPrefillAndDecodeReportTheSame() throws Exception {
    try (SplitRig rig = new SplitRig("sglang")) {
      rig.prefill(new Answer(200, "{\"id\":\"a\"," + PREFILLED));
      rig.decode(new EventStream(List.of("{\"a\":1}", "{\"choices\":[]," + DECODED)));
      ask(rig, ",\"stream\":true");
      ProxyRig.await("both have ended", () -> rig.proxy.signals.size() == 4);

      // The order of the two workers is undefined.
      assertThat(rig.proxy.signals)
          .containsExactlyInAnyOrder(
              "first token", "first token", new Usage(9, 7, 1), new Usage(9, 8, 5));
    }
  }

  @Test
  void prefillThatFailsReportsNothing() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      rig.prefill(new Answer(400, "{\"error\":{}}"));
      rig.decode(Answer.ok());
      ask(rig, "");

      assertThat(rig.proxy.signals).doesNotContain("first token");
    }
  }
}
