package io.pointsman.tool.sim;

import static io.pointsman.tool.sim.KvPair.COMPLETIONS;
import static io.pointsman.tool.sim.KvPair.decodeBody;
import static io.pointsman.tool.sim.KvPair.ok;
import static io.pointsman.tool.sim.KvPair.post;
import static io.pointsman.tool.sim.KvPair.postAsync;
import static io.pointsman.tool.sim.KvPair.prefillBody;
import static io.pointsman.tool.sim.KvPair.refused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvState;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** MoRI-IO by hand over real sockets, READ and WRITE; prefill has 2 ranks, decode 3. */
class MoriioWireTest {
  private static final String ID = "X-Request-Id";
  private static final String RANK = "X-data-parallel-rank";

  @Test
  void readFollowsThePrefillReply() throws IOException {
    try (KvPair pair = pair(KvConnector.MORIIO_READ)) {
      JsonNode reply =
          ok(pair.prefill, COMPLETIONS, gives("t1"), ID, id(pair), RANK, "1")
              .path("kv_transfer_params");
      assertThat(reply.path("transfer_id").asText()).isEqualTo("t1");
      assertThat(reply.path("remote_block_ids").get(0).size()).isPositive();
      ObjectNode params = ((ObjectNode) reply).deepCopy().put("remote_dp_size", 2);
      ok(pair.decode, COMPLETIONS, decodeBody().set("kv_transfer_params", params), ID, id(pair));
      pair.settled(1);
    }
  }

  @Test
  void writeStepsOverlap() throws Exception {
    try (KvPair pair = pair(KvConnector.MORIIO_WRITE)) {
      CompletableFuture<HttpResponse<String>> decode =
          postAsync(pair.decode, COMPLETIONS, takes("t1"), ID, id(pair));
      KvPair.await(pair.prefill, s -> s.transfers().waiting() == 1);
      ok(pair.prefill, COMPLETIONS, gives("t1"), ID, id(pair), RANK, "1");

      assertThat(decode.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
      pair.settled(1);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "transfer_id, null",
    "remote_dp_size, null",
    "remote_dp_size, 2",
    "remote_tp_size, null",
    "remote_tp_size, 5",
    "remote_engine_id, \"x\"",
    "remote_block_ids, [[1]]"
  })
  void prefillNoticesEveryWrongField(String field, String value) throws IOException {
    try (KvPair pair = pair(KvConnector.MORIIO_WRITE)) {
      ObjectNode body = gives("t1");
      ((ObjectNode) body.path("kv_transfer_params")).set(field, SimWireClient.json(value));
      notices(pair.prefill, field, post(pair.prefill, COMPLETIONS, body, ID, id(pair)));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "transfer_id, null",
    "remote_dp_size, null",
    "remote_dp_size, 3",
    "remote_tp_size, null",
    "remote_tp_size, 5",
    "remote_dp_rank, 0",
    "remote_dp_rank, 2",
    "remote_engine_id, \"x\"",
    "remote_block_ids, [[1]]"
  })
  void decodeNoticesEveryWrongField(String field, String value) throws IOException {
    try (KvPair pair = pair(KvConnector.MORIIO_WRITE)) {
      ok(pair.prefill, COMPLETIONS, gives("t1"), ID, id(pair), RANK, "1");
      ObjectNode body = takes("t1");
      ((ObjectNode) body.path("kv_transfer_params")).set(field, SimWireClient.json(value));
      notices(pair.decode, field, post(pair.decode, COMPLETIONS, body, ID, id(pair)));
    }
  }

  @Test
  void requestIdMustNameBothEngines() throws IOException {
    try (KvPair pair = pair(KvConnector.MORIIO_WRITE)) {
      refused(pair.prefill, ID, COMPLETIONS, gives("t1"));
      refused(pair.decode, ID, COMPLETIONS, takes("t1"), ID, "x");
      refused(pair.prefill, ID, COMPLETIONS, gives("t1"), ID, id(pair) + "_0");
      String swapped =
          "___prefill_addr_" + zmq(pair.decode) + "___decode_addr_" + zmq(pair.prefill) + "_1";
      refused(pair.prefill, ID, COMPLETIONS, gives("t1"), ID, swapped);
      refused(pair.decode, ID, COMPLETIONS, takes("t1"), ID, swapped);
    }
  }

  @Test
  void registrationContainsModeAndSizes() throws Exception {
    try (ZmqRouter router = ZmqRouter.bind()) {
      KvOptions options =
          KvOptions.of(KvRole.DECODE, KvConnector.MORIIO_READ)
              .withRanks(2, 4)
              .withRouter(router.address(), 0.05);
      try (SimEngine engine = SimEngine.start(SimConfig.instant().withKv(options))) {
        assertThat(router.next())
            .isEqualTo(
                Map.of(
                    "type", "D",
                    "http_address", "127.0.0.1:" + engine.port(),
                    "zmq_address", zmq(engine),
                    "dp_size", "4",
                    "tp_size", "2",
                    "transfer_mode", "READ"));
      }
    }
  }

  private static void notices(SimEngine engine, String field, HttpResponse<String> response) {
    assertThat(response.statusCode()).as(response.body()).isIn(400, 500);
    KvState state = engine.kvState();
    assertThat(state.fieldErrorsInAll()).isEqualTo(1);
    assertThat(state.reasons().getFirst()).contains(field);
  }

  private static KvPair pair(KvConnector connector) {
    return new KvPair(
        connector,
        SimConfig.instant(),
        options -> options.withRanks(1, 2),
        options -> options.withRanks(4, 3).withWaitSeconds(30));
  }

  private static ObjectNode gives(String transfer) {
    ObjectNode params =
        SimJson.object().put("do_remote_decode", true).put("do_remote_prefill", false);
    params.putNull("remote_engine_id").putNull("remote_block_ids").put("transfer_id", transfer);
    params.put("remote_dp_size", 3).put("remote_tp_size", 4);
    return prefillBody().set("kv_transfer_params", params);
  }

  private static ObjectNode takes(String transfer) {
    ObjectNode params =
        SimJson.object().put("do_remote_decode", false).put("do_remote_prefill", true);
    params.putNull("remote_engine_id").putNull("remote_block_ids").put("transfer_id", transfer);
    params.put("remote_dp_size", 2).put("remote_tp_size", 1).put("remote_dp_rank", 1);
    return decodeBody().set("kv_transfer_params", params);
  }

  private static String zmq(SimEngine engine) {
    int port = engine.kvState().port();
    return "host:127.0.0.1,handshake:" + port + ",notify:" + port;
  }

  private static String id(KvPair pair) {
    return "___prefill_addr_"
        + zmq(pair.prefill)
        + "___decode_addr_"
        + zmq(pair.decode)
        + "_3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c";
  }
}
