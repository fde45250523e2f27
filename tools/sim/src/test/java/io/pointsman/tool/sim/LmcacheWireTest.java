package io.pointsman.tool.sim;

import static io.pointsman.tool.sim.KvPair.COMPLETIONS;
import static io.pointsman.tool.sim.KvPair.ok;
import static io.pointsman.tool.sim.KvPair.post;
import static io.pointsman.tool.sim.KvPair.refused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvState;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * LMCache by hand over real sockets: push to two ranks, notify, and continue after the first token.
 */
class LmcacheWireTest {
  private final ZmqRouter router = ZmqRouter.pull();
  private final KvPair pair =
      new KvPair(
          KvConnector.LMCACHE, options -> options.withRanks(2, 1).withRouter(router.address(), 1));

  @AfterEach
  void close() {
    pair.close();
    router.close();
  }

  @Test
  void decodeContinuesAfterTheFirstToken() throws IOException {
    JsonNode reply = ok(pair.prefill, COMPLETIONS, gives()).path("kv_transfer_params");
    assertThat(reply.path("first_tok").isIntegralNumber()).isTrue();
    assertThat(reply.path("num_lmcache_cached_tokens").isIntegralNumber()).isTrue();
    Map<String, String> notification = Map.of("type", "ProxyNotif", "req_id", "42");
    assertThat(router.next()).isEqualTo(notification);
    assertThat(router.next()).isEqualTo(notification);

    JsonNode answer = ok(pair.decode, COMPLETIONS, takes(reply.path("first_tok").asInt()));

    assertThat(answer.path("usage").path("completion_tokens").asInt()).isEqualTo(4);
    KvState state = pair.prefill.kvState();
    assertThat(state.transfers().finished()).isEqualTo(1);
    assertThat(state.transfers().tokens()).isEqualTo(40);
    assertThat(pair.prefill.state().kv().pinned()).isZero();
    assertThat(pair.decode.kvState().fieldErrors()).isEmpty();
  }

  @Test
  void decodeBeforeTheKvOrWithAWrongFirstTokenIsNoticed() throws IOException {
    refused(pair.decode, "prompt", COMPLETIONS, takes(7));
    int first =
        ok(pair.prefill, COMPLETIONS, gives()).path("kv_transfer_params").path("first_tok").asInt();
    router.next();
    router.next();
    refused(pair.decode, "prompt", COMPLETIONS, takes(first + 1));
    assertThat(pair.decode.kvState().reasons().getLast()).contains("prefill's token: " + first);
    ObjectNode without = takes(first);
    ((ArrayNode) without.path("prompt")).remove(39);
    refused(pair.decode, "prompt", COMPLETIONS, without);
    ObjectNode params = takes(first);
    params.putObject("kv_transfer_params");
    refused(pair.decode, "kv_transfer_params", COMPLETIONS, params);
    ok(pair.decode, COMPLETIONS, takes(first));
  }

  @ParameterizedTest
  @CsvSource({
    "req_id, null",
    "req_id, 42",
    "receiver_host, null",
    "receiver_init_port, null",
    "receiver_init_port, 1",
    "receiver_init_port, [1]",
    "receiver_init_port, '[1, 1]'",
    "receiver_alloc_port, null",
    "receiver_alloc_port, '[0, 1]'"
  })
  void prefillNoticesEveryWrongField(String field, String value) throws IOException {
    ObjectNode body = gives();
    spec(body).set(field, SimWireClient.json(value));
    HttpResponse<String> response = post(pair.prefill, COMPLETIONS, body);

    assertThat(response.statusCode()).as(response.body()).isIn(400, 500);
    assertThat(pair.prefill.kvState().reasons().getFirst()).contains("disagg_spec." + field);
  }

  @Test
  void firstTokenIsReturnedOnlyOnRequest() throws IOException {
    ObjectNode body = gives();
    ObjectNode params = (ObjectNode) body.path("kv_transfer_params");
    refused(
        pair.prefill,
        "kv_transfer_params.ret_first_tok",
        COMPLETIONS,
        withFirst(body.deepCopy(), false));
    params.remove("ret_first_tok");
    JsonNode reply = ok(pair.prefill, COMPLETIONS, body).path("kv_transfer_params");
    assertThat(reply.has("first_tok")).isFalse();
    router.next();
    router.next();
    refused(pair.decode, "prompt", COMPLETIONS, takes(7));
    assertThat(pair.decode.kvState().reasons().getLast()).contains("not asked for a first token");
    ok(pair.decode, COMPLETIONS, prompt().put("seed", 7));
  }

  private static ObjectNode withFirst(ObjectNode body, boolean asked) {
    ((ObjectNode) body.path("kv_transfer_params")).put("ret_first_tok", asked);
    return body;
  }

  /** Members that depend on all tokens, which neither engine sees completely. */
  @ParameterizedTest
  @CsvSource({
    "seed, 7",
    "stop, '[\"x\"]'",
    "presence_penalty, 0.5",
    "logit_bias, '{\"7\": 1}'",
    "logprobs, 1",
    "response_format, '{\"type\": \"json_object\"}'",
    "structured_outputs, '{\"regex\": \"a\"}'",
    "guided_choice, '[\"a\"]'",
    "min_tokens, 2"
  })
  void prefillsFirstTokenIsForPlainRequestsOnly(String name, String value) throws IOException {
    ObjectNode body = gives();
    refused(pair.prefill, name, COMPLETIONS, body.deepCopy().set(name, SimWireClient.json(value)));
    int first =
        ok(pair.prefill, COMPLETIONS, body).path("kv_transfer_params").path("first_tok").asInt();
    router.next();
    router.next();
    refused(pair.decode, name, COMPLETIONS, takes(first).set(name, SimWireClient.json(value)));
    ok(pair.decode, COMPLETIONS, prompt().set(name, SimWireClient.json(value)));
    ok(pair.decode, COMPLETIONS, takes(first));
  }

  private static ObjectNode prompt() {
    return SimJson.object().put("max_tokens", 4).set("prompt", tokens());
  }

  @Test
  void portsOfTheWrongKindOrRankAreNoticed() throws IOException {
    KvState decode = pair.decode.kvState();
    ObjectNode swapped = gives();
    ports(swapped, "receiver_init_port", decode.allocPorts());
    refused(pair.prefill, "disagg_spec.receiver_init_port", COMPLETIONS, swapped);
    ObjectNode reversed = gives();
    ports(reversed, "receiver_init_port", decode.initPorts().reversed());
    refused(pair.prefill, "disagg_spec.receiver_init_port", COMPLETIONS, reversed);
    ObjectNode noBuffers = gives();
    ports(noBuffers, "receiver_alloc_port", decode.initPorts());
    ok(pair.prefill, COMPLETIONS, noBuffers);
    KvState state = KvPair.await(pair.prefill, s -> s.fieldErrorsInAll() == 3);
    assertThat(state.reasons().getLast()).startsWith("disagg_spec.receiver_alloc_port");
    assertThat(state.transfers().inProgress()).isZero();
  }

  private static ObjectNode spec(ObjectNode body) {
    return (ObjectNode) body.path("kv_transfer_params").path("disagg_spec");
  }

  /**
   * KV is found by the prompt's content, independent of the engine that generates the first token.
   */
  @Test
  void decodeFindsTheKvOfAPromptWithoutTheFirstToken() throws IOException {
    ObjectNode prompt = prompt();
    refused(pair.decode, "prompt", COMPLETIONS, prompt);
    ok(pair.prefill, COMPLETIONS, gives());
    router.next();
    router.next();
    ok(pair.decode, COMPLETIONS, prompt);
    assertThat(pair.decode.kvState().steps().direct()).isZero();
  }

  private static void ports(ObjectNode body, String field, List<Integer> ports) {
    ArrayNode list = spec(body).putArray(field);
    ports.forEach(list::add);
  }

  private static ArrayNode tokens() {
    ArrayNode prompt = SimJson.array();
    for (int i = 0; i < 40; i++) {
      prompt.add(1000 + i);
    }
    return prompt;
  }

  private ObjectNode gives() {
    ObjectNode body = SimJson.object().put("max_tokens", 1).put("stream", false);
    body.set("prompt", tokens());
    ObjectNode params = body.putObject("kv_transfer_params").put("ret_first_tok", true);
    params.putObject("disagg_spec").put("req_id", "42").put("receiver_host", "127.0.0.1");
    KvState decode = pair.decode.kvState();
    ports(body, "receiver_init_port", decode.initPorts());
    ports(body, "receiver_alloc_port", decode.allocPorts());
    return body;
  }

  private static ObjectNode takes(int firstToken) {
    ObjectNode body = SimJson.object().put("max_tokens", 4);
    return body.set("prompt", tokens().add(firstToken));
  }
}
