package io.pointsman.tool.sim;

import static io.pointsman.tool.sim.KvPair.COMPLETIONS;
import static io.pointsman.tool.sim.KvPair.RESPONSES;
import static io.pointsman.tool.sim.KvPair.decodeBody;
import static io.pointsman.tool.sim.KvPair.ok;
import static io.pointsman.tool.sim.KvPair.prefillBody;
import static io.pointsman.tool.sim.KvPair.refused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvState;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** P2P NCCL by hand over real sockets: addresses in the request id, registrations by ZeroMQ. */
class P2pNcclWireTest {
  private static final String ID = "X-Request-Id";
  private static final String UUID = "3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c";

  private final KvPair pair = new KvPair(KvConnector.P2P_NCCL);
  private final String prefill = "127.0.0.1:" + pair.prefill.kvState().port();
  private final String decode = "127.0.0.1:" + pair.decode.kvState().port();

  @AfterEach
  void close() {
    pair.close();
  }

  @Test
  void sameIdInBothRequestsTransfersTheKv() throws IOException {
    String id = id(prefill, decode, UUID);
    ok(pair.prefill, COMPLETIONS, prefillBody(), ID, id);
    KvPair.await(pair.decode, state -> state.reserved().requests() == 1);
    KvPair.await(pair.prefill, state -> state.transfers().inProgress() == 0);
    assertThat(pair.prefill.kvState().reserved().requests()).isZero();
    ok(pair.decode, COMPLETIONS, decodeBody(), ID, id);
    KvState decoded = pair.decode.kvState();
    assertThat(decoded.reserved().released()).isEqualTo(1);
    assertThat(decoded.reserved().requests()).isZero();
    assertThat(decoded.fieldErrors()).isEmpty();
  }

  /** It is not sent again, and closing the connection does not wake the engine. */
  @Test
  void takenIdIsAwaitedInVain() throws IOException {
    String id = id(prefill, decode, UUID);
    ok(pair.prefill, COMPLETIONS, prefillBody(), ID, id);
    ok(pair.decode, COMPLETIONS, decodeBody(), ID, id);
    var second = KvPair.postAsync(pair.decode, COMPLETIONS, decodeBody(), ID, id);
    KvPair.await(pair.decode, state -> state.transfers().waiting() == 1);
    assertThat(pair.decode.kvState().fieldErrors()).containsEntry(ID, 1L);
    assertThat(second.cancel(true)).isTrue();
    KvPair.await(pair.decode, _ -> pair.decode.state().requests().inFlight() == 0);
    assertThat(pair.decode.kvState().transfers().waiting()).isEqualTo(1);
  }

  @Test
  void everyRequestNeedsBothAddresses() throws IOException {
    refused(pair.prefill, ID, COMPLETIONS, prefillBody());
    refused(pair.decode, ID, COMPLETIONS, decodeBody());
    refused(pair.decode, ID, COMPLETIONS, decodeBody(), ID, "client-id");
    refused(pair.decode, ID, COMPLETIONS, decodeBody(), ID, "___prefill_addr_" + prefill + "___x");
  }

  @Test
  void responsesHaveTheirIdInTheBody() throws IOException {
    String id = "resp_" + id(prefill, decode, UUID);
    ObjectNode first = SimJson.object().put("input", KvPair.WORDS).put("max_output_tokens", 1);
    first.put("stream", false);
    ObjectNode second = SimJson.object().put("input", KvPair.WORDS).put("max_output_tokens", 5);
    refused(pair.prefill, "request_id", RESPONSES, first, ID, id(prefill, decode, UUID));
    refused(pair.decode, "request_id", RESPONSES, second, ID, id(prefill, decode, UUID));
    ok(pair.prefill, RESPONSES, first.put("request_id", id));
    ok(pair.decode, RESPONSES, second.put("request_id", id));
    assertThat(pair.decode.kvState().reserved().released()).isEqualTo(1);
  }

  @Test
  void addressesMustBeThoseOfTheEngines() throws IOException {
    refused(pair.prefill, ID, COMPLETIONS, prefillBody(), ID, id("127.0.0.1:1", decode, UUID));
    refused(pair.prefill, ID, COMPLETIONS, prefillBody(), ID, id(prefill, "127.0.0.1:1", UUID));
    refused(pair.prefill, ID, COMPLETIONS, prefillBody(), ID, id(prefill, prefill, UUID));
    refused(pair.decode, ID, COMPLETIONS, decodeBody(), ID, id(prefill, "127.0.0.1:1", UUID));
  }

  @Test
  void idUnknownToPrefillIsAwaited() throws IOException {
    String id = id(prefill, decode, UUID);
    var early = KvPair.postAsync(pair.decode, COMPLETIONS, decodeBody(), ID, id);
    KvPair.await(pair.decode, state -> state.transfers().waiting() == 1);
    ok(pair.prefill, COMPLETIONS, prefillBody(), ID, id(prefill, decode, "other"));
    assertThat(early.isDone()).isFalse();
    ok(pair.prefill, COMPLETIONS, prefillBody(), ID, id);
    assertThat(early.join().statusCode()).isEqualTo(200);
    KvPair.await(pair.decode, state -> state.reserved().requests() == 1);
  }

  @Test
  void sentKvMustBelongToThisPrompt() throws IOException {
    String id = id(prefill, decode, UUID);
    ok(
        pair.prefill,
        COMPLETIONS,
        prefillBody().put("prompt", KvPair.WORDS.replace("one two", "two one")),
        ID,
        id);
    refused(pair.decode, "prompt", COMPLETIONS, decodeBody(), ID, id);
  }

  @Test
  void prefillRequestIsChecked() throws IOException {
    String id = id(prefill, decode, UUID);
    refused(pair.prefill, "max_tokens", COMPLETIONS, decodeBody(), ID, id);
  }

  @Test
  void enginesRegisterRepeatedly() throws Exception {
    try (ZmqRouter router = ZmqRouter.bind()) {
      KvOptions options =
          KvOptions.of(KvRole.PREFILL, KvConnector.P2P_NCCL).withRouter(router.address(), 0.05);
      try (SimEngine engine = SimEngine.start(SimConfig.instant().withKv(options))) {
        Map<String, String> expected =
            Map.of(
                "type",
                "P",
                "http_address",
                "127.0.0.1:" + engine.port(),
                "zmq_address",
                "127.0.0.1:" + engine.kvState().port());
        assertThat(router.next()).isEqualTo(expected);
        assertThat(router.next()).isEqualTo(expected);
        engine.stop();
        engine.restart();
        assertThat(router.next()).isEqualTo(expected);
      }
    }
  }

  private static String id(String prefill, String decode, String uuid) {
    return "___prefill_addr_" + prefill + "___decode_addr_" + decode + "_" + uuid;
  }
}
