package io.pointsman.tool.sim;

import static io.pointsman.tool.sim.KvPair.COMPLETIONS;
import static io.pointsman.tool.sim.KvPair.decodeBody;
import static io.pointsman.tool.sim.KvPair.ok;
import static io.pointsman.tool.sim.KvPair.prefillBody;
import static io.pointsman.tool.sim.KvPair.refused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvState;
import java.io.IOException;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** NIXL by hand over real sockets: one wrong value for each field. */
class NixlFieldsWireTest {
  private final KvPair pair = new KvPair(KvConnector.NIXL);

  @AfterEach
  void close() {
    pair.close();
  }

  @ParameterizedTest
  @CsvSource({
    "do_remote_prefill, false",
    "do_remote_decode, null",
    "do_remote_decode, true",
    "remote_engine_id, null",
    "remote_engine_id, \"other\"",
    "remote_request_id, \"other\"",
    "remote_request_id, 5",
    "remote_block_ids, [1]",
    "remote_block_ids, [[1]]",
    "remote_block_ids, null",
    "remote_host, null",
    "remote_port, 1",
    "remote_port, \"x\"",
    "tp_size, 2",
    "tp_size, null",
    "remote_num_tokens, 3",
    "remote_num_tokens, null"
  })
  void decodeNoticesEveryWrongField(String field, String value) throws IOException {
    ObjectNode params = produce().deepCopy();
    ObjectNode wrong = params.deepCopy();
    wrong.set(field, SimWireClient.json(value));
    HttpResponse<String> response =
        KvPair.post(pair.decode, COMPLETIONS, decodeBody().set("kv_transfer_params", wrong));

    assertThat(response.statusCode()).as(response.body()).isIn(400, 500);
    KvState state = pair.decode.kvState();
    assertThat(state.fieldErrorsInAll()).isEqualTo(1);
    assertThat(state.reasons().getFirst()).contains(field);
    assertThat(pair.prefill.kvState().reserved().requests()).isEqualTo(1);

    ok(pair.decode, COMPLETIONS, decodeBody().set("kv_transfer_params", params));
    pair.settled(1);
  }

  @ParameterizedTest
  @CsvSource({
    "max_tokens, 2, max_tokens",
    "max_completion_tokens, 7, max_completion_tokens",
    "min_tokens, 4, min_tokens",
    "stream, true, stream",
    "stream_options, {}, stream_options",
    "n, 2, n",
    "best_of, 3, best_of",
    "use_beam_search, true, use_beam_search"
  })
  void prefillNoticesFieldsThatWereNotNormalised(String field, String value, String named)
      throws IOException {
    ObjectNode body = prefillBody();
    body.set(field, SimWireClient.json(value));
    refused(pair.prefill, named, COMPLETIONS, body.set("kv_transfer_params", KvPair.asks()));
    assertThat(pair.prefill.kvState().reserved().requests()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "remote_engine_id",
        "remote_block_ids",
        "remote_host",
        "remote_port",
        "remote_request_id"
      })
  void prefillNoticesPlaceholdersThatAreNotNull(String field) throws IOException {
    ObjectNode asks = KvPair.asks();
    asks.put(field, "x");
    refused(
        pair.prefill,
        "kv_transfer_params." + field,
        COMPLETIONS,
        prefillBody().set("kv_transfer_params", asks));
  }

  private JsonNode produce() throws IOException {
    ObjectNode body = prefillBody().set("kv_transfer_params", KvPair.asks());
    return ok(pair.prefill, COMPLETIONS, body).path("kv_transfer_params");
  }
}
