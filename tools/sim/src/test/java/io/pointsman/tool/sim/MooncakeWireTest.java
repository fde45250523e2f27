package io.pointsman.tool.sim;

import static io.pointsman.tool.sim.KvPair.COMPLETIONS;
import static io.pointsman.tool.sim.KvPair.decodeBody;
import static io.pointsman.tool.sim.KvPair.ok;
import static io.pointsman.tool.sim.KvPair.postAsync;
import static io.pointsman.tool.sim.KvPair.prefillBody;
import static io.pointsman.tool.sim.KvPair.refused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Mooncake by hand over real sockets: bootstrap query, then two requests in any order. */
class MooncakeWireTest {
  private static final String RANK = "X-data-parallel-rank";

  private final KvPair pair =
      new KvPair(KvConnector.MOONCAKE, options -> options.withRanks(1, 2).withWaitSeconds(30));

  @AfterEach
  void close() {
    pair.close();
  }

  @Test
  void bootstrapServerReportsTheEngineIdOfEveryRank() throws IOException {
    JsonNode ranks = query();

    assertThat(ranks.size()).isEqualTo(2);
    assertThat(engineId(1)).isNotEqualTo(engineId(0));
    assertThat(engineId(0)).isEqualTo(pair.prefill.kvState().engineId());
  }

  @Test
  void decodeThatComesFirstWaitsForPrefill() throws Exception {
    CompletableFuture<HttpResponse<String>> decode =
        postAsync(pair.decode, COMPLETIONS, takes("t1", 1));
    KvPair.await(pair.prefill, s -> s.transfers().waiting() == 1);
    assertThat(decode.isDone()).isFalse();
    JsonNode reply = ok(pair.prefill, COMPLETIONS, gives("t1"), RANK, "1");

    assertThat(reply.path("kv_transfer_params").isNull()).isTrue();
    assertThat(decode.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    pair.settled(1);
  }

  @Test
  void prefillMayComeFirst() throws IOException {
    ok(pair.prefill, COMPLETIONS, gives("t2"));
    assertThat(pair.prefill.kvState().reserved().requests()).isEqualTo(1);
    ok(pair.decode, COMPLETIONS, takes("t2", 0));
    pair.settled(1);
  }

  @Test
  void wrongRankIsNoticed() throws IOException {
    ok(pair.prefill, COMPLETIONS, gives("t3"), RANK, "1");
    refused(pair.decode, "remote_engine_id", COMPLETIONS, takes("t3", 0));
    refused(pair.prefill, RANK, COMPLETIONS, gives("t4"), RANK, "2");
  }

  @Test
  void transferIdInUseIsNoticed() throws IOException {
    ok(pair.prefill, COMPLETIONS, gives("t5"));
    refused(pair.prefill, "transfer_id", COMPLETIONS, gives("t5"));
  }

  @Test
  void engineIdFromBeforeARestartIsNoticedAtOnce() throws IOException {
    ObjectNode stale = takes("t6", 0);
    pair.prefill.stop();
    pair.prefill.restart();

    refused(pair.decode, "remote_engine_id", COMPLETIONS, stale);
    ok(pair.prefill, COMPLETIONS, gives("t6"));
    ok(pair.decode, COMPLETIONS, takes("t6", 0));
  }

  @Test
  void missingPrefillEndsTheWait() throws IOException {
    try (KvPair brief = new KvPair(KvConnector.MOONCAKE, options -> options.withWaitSeconds(0.2))) {
      ObjectNode params = SimJson.object().put("do_remote_decode", false);
      params.put("do_remote_prefill", true).put("transfer_id", "none");
      params.put("remote_engine_id", brief.prefill.kvState().engineId());
      params.put("remote_bootstrap_addr", "http://127.0.0.1:" + brief.prefill.kvState().port());
      refused(
          brief.decode, "transfer_id", COMPLETIONS, decodeBody().set("kv_transfer_params", params));
      assertThat(brief.prefill.kvState().transfers().waiting()).isZero();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "do_remote_prefill, null",
    "transfer_id, null",
    "transfer_id, 7",
    "remote_engine_id, null",
    "remote_engine_id, \"x\"",
    "remote_bootstrap_addr, null",
    "remote_bootstrap_addr, \"127.0.0.1:8998\"",
    "remote_bootstrap_addr, \"http://127.0.0.1:1\""
  })
  void decodeNoticesEveryWrongField(String field, String value) throws IOException {
    ok(pair.prefill, COMPLETIONS, gives("t7"));
    ObjectNode body = takes("t7", 0);
    ((ObjectNode) body.path("kv_transfer_params")).set(field, SimWireClient.json(value));
    HttpResponse<String> response = KvPair.post(pair.decode, COMPLETIONS, body);

    assertThat(response.statusCode()).as(response.body()).isIn(400, 500);
    assertThat(pair.decode.kvState().reasons().getFirst()).contains(field);
    assertThat(pair.decode.kvState().fieldErrorsInAll()).isEqualTo(1);
  }

  private JsonNode query() throws IOException {
    return SimWireClient.json(
        SimWireClient.get("http://127.0.0.1:" + pair.prefill.kvState().port() + "/query").body());
  }

  private String engineId(int rank) throws IOException {
    return query().path(Integer.toString(rank)).path("engine_id").asText();
  }

  private static ObjectNode gives(String transfer) {
    ObjectNode params =
        SimJson.object().put("do_remote_decode", true).put("do_remote_prefill", false);
    return prefillBody().set("kv_transfer_params", params.put("transfer_id", transfer));
  }

  private ObjectNode takes(String transfer, int rank) throws IOException {
    ObjectNode params =
        SimJson.object().put("do_remote_decode", false).put("do_remote_prefill", true);
    params.put("transfer_id", transfer).put("remote_engine_id", engineId(rank));
    params.put("remote_bootstrap_addr", "http://127.0.0.1:" + pair.prefill.kvState().port());
    return decodeBody().set("kv_transfer_params", params);
  }
}
