package io.pointsman.pd.execution;

import static io.pointsman.pd.execution.SplitRig.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.WireClient;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A decode request that was sent together with a prefill that does not push its blocks. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SplitPromiseTest {
  private static final String PUSHES =
      "{\"kv_transfer_params\":{\"transfer_mode\":\"push\",\"remote_engine_id\":\"e\","
          + "\"remote_host\":\"h\",\"remote_port\":1}}";
  private static final String WAITS = "remote_request_id";

  private static List<EngineRequest> waited(ScriptedEngine decode) {
    return decode.requests().stream().filter(each -> each.bodyText().contains(WAITS)).toList();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "{\"choices\":[]} | HANDOVER_EMPTY",
        "{\"kv_transfer_params\":null} | HANDOVER_EMPTY",
        "{\"kv_transfer_params\":{\"transfer_mode\":\"pull\",\"a\":1}} | HANDOVER_RELEASED",
        "no JSON | PREFILL_ERROR"
      })
  void decodeDoesNotWaitForAMissingPush(String answer, String event) throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(new Answer(200, PUSHES));
      Worker first = rig.worker(prefill);
      ScriptedEngine decode =
          rig.decode(
              (request, connection) -> {
                if (request.bodyText().contains(WAITS)) {
                  asked.countDown();
                  new HangBeforeHeaders().answer(request, connection);
                } else {
                  Answer.ok().answer(request, connection);
                }
              });
      Worker second = rig.worker(decode);
      assertThat(rig.proxy.ask(request()).status()).isEqualTo(200);
      prefill.now(
          (request, connection) -> {
            asked.await();
            new Answer(200, answer).answer(request, connection);
          });

      assertThat(rig.proxy.ask(request()).text()).isEqualTo("{\"ok\":true}");
      assertThat(waited(decode)).hasSize(1);
      ProxyRig.await("recorded: " + rig.recorded, () -> rig.recorded.contains(event));

      assertThat(rig.proxy.ask(request()).text()).isEqualTo("{\"ok\":true}");
      assertThat(waited(decode)).as("prefill is not asked together with decode").hasSize(1);
      ProxyRig.await("nothing runs", () -> first.inFlight() + second.inFlight() == 0);
    }
  }

  /** Decode had the blocks although the answer does not report it. */
  @ParameterizedTest
  @CsvSource({"false", "true"})
  void aStreamThatHasStartedContinues(boolean readable) throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(new Answer(200, PUSHES));
      ScriptedEngine decode = rig.decode(Answer.ok());
      assertThat(rig.proxy.ask(request()).status()).isEqualTo(200);
      rig.recorded.clear();
      prefill.now(
          (request, connection) -> {
            begun.await();
            new Answer(200, readable ? "{}" : "no JSON").answer(request, connection);
          });
      decode.now(
          (_, connection) -> {
            connection.beginEvents().chunk("data: {\"a\":1}\n\n");
            goOn.await();
            connection.chunk("data: [DONE]\n\n").lastChunk();
          });
      WireClient client = rig.proxy.connect().send(request(",\"stream\":true"));
      client.head();
      assertThat(client.chunk()).contains("\"a\":1");
      begun.countDown();
      String end = readable ? "PREFILL_DONE" : "PREFILL_ERROR";
      ProxyRig.await("prefill has ended", () -> rig.recorded.contains(end));
      goOn.countDown();

      assertThat(client.chunk()).isEqualTo("data: [DONE]\n\n");
      assertThat(client.chunk()).isEmpty();
      assertThat(decode.requests()).hasSize(2);
    }
  }
}
