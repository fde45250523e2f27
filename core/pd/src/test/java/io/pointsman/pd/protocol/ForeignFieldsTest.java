package io.pointsman.pd.protocol;

import static io.pointsman.pd.protocol.PlannedExchange.decodeStep;
import static io.pointsman.pd.protocol.PlannedExchange.log;
import static io.pointsman.pd.protocol.PlannedExchange.reply;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.pd.peer.BlockReceiver;
import io.pointsman.pd.peer.Peer.TransferMode;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.request.Endpoint;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A client's fields for the KV transfer reach no worker, with any protocol. */
class ForeignFieldsTest {
  private static final String PLANTED =
      "\"kv_transfer_params\":{\"remote_host\":\"planted\"},\"kv_transfer_params\":\"planted\","
          + "\"vllm_xargs\":{\"kv_transfer_params\":\"planted\",\"mine\":1},"
          + "\"disagg_prefill_resp\":{\"id\":\"planted\"},\"disagg_prefill_dp_rank\":\"planted\","
          + "\"routed_dp_rank\":\"planted\",\"data_parallel_rank\":\"planted\","
          + "\"bootstrap_host\":\"planted\",\"bootstrap_port\":\"planted\","
          + "\"bootstrap_room\":\"planted\",\"bootstrap_pair_key\":\"planted\","
          + "\"request_id\":\"___prefill_addr_planted:1___decode_addr_planted:2_a\"";

  static List<String> protocols() {
    return Protocols.names();
  }

  private static PlannedExchange exchange(String protocol) {
    PlannedExchange exchange = new PlannedExchange(protocol);
    for (String id : List.of("p", "d")) {
      exchange.peers.update(
          id,
          peer ->
              peer.withKvAddress("host:10.2.0.1,handshake:1,notify:2")
                  .withMode(TransferMode.WRITE)
                  .withDpSize(1)
                  .withTpSize(1)
                  .withEngineIds(List.of("e"))
                  .withReceiver(new BlockReceiver("h", List.of(1), List.of(2))));
    }
    if (protocol.equals("p2p_nccl")) {
      exchange.peers.update("p", peer -> peer.withKvAddress("10.2.0.11:1"));
      exchange.peers.update("d", peer -> peer.withKvAddress("10.2.0.21:1"));
    }
    return exchange;
  }

  private static List<String> steps(String protocol, Endpoint endpoint, String body) {
    PlannedExchange exchange = exchange(protocol);
    List<String> sent = new ArrayList<>();
    switch (exchange.plan(endpoint, body)) {
      case PdPlan.Sequential plan -> {
        sent.add(log(plan.prefill(), body));
        sent.add(log(decodeStep(plan.handover().to(exchange.decode, reply("{}"))), body));
        String described = "{\"kv_transfer_params\":{\"remote_host\":\"prefill\"}}";
        sent.add(log(decodeStep(plan.handover().to(exchange.decode, reply(described))), body));
      }
      case PdPlan.Concurrent plan -> {
        sent.add(log(plan.prefill(), body));
        sent.add(log(plan.decode(), body));
      }
      case PdPlan.Unplanned unplanned -> throw new AssertionError(unplanned);
    }
    return sent;
  }

  /** LMCache's settings reach prefill, beside the fields of the router. */
  @ParameterizedTest
  @MethodSource("protocols")
  void foreignFieldsReachNoWorker(String protocol) {
    String body = "{\"prompt\":\"a\"," + PLANTED + ",\"max_tokens\":9,\"stream\":true}";
    List<String> steps = steps(protocol, Endpoint.COMPLETIONS, body);

    assertThat(steps).allSatisfy(step -> assertThat(step).contains("\"mine\":1"));
    if (protocol.equals("lmcache")) {
      assertThat(steps.removeFirst()).contains("\"disagg_spec\"").doesNotContain("bootstrap");
    }
    assertThat(steps).hasSizeGreaterThan(1).noneMatch(step -> step.contains("planted"));
  }

  /** Some protocols send addresses to the engine in this id. */
  @ParameterizedTest
  @MethodSource("protocols")
  void aClientsResponseIdReachesNoWorker(String protocol) {
    String body = "{\"input\":\"a\"," + PLANTED + ",\"mine\":1}";
    List<String> steps = steps(protocol, Endpoint.RESPONSES, body);

    assertThat(steps).hasSizeGreaterThan(1).allMatch(step -> step.contains("\"mine\":1"));
    assertThat(steps).noneMatch(step -> step.contains("addr_planted"));
    boolean spoken = List.of("p2p_nccl", "moriio", "nixl").contains(protocol);
    assertThat(steps).allMatch(step -> step.contains("\"request_id\"") == spoken);
  }

  @ParameterizedTest
  @MethodSource("protocols")
  void foreignFieldsInSamplingParametersReachNoWorker(String protocol) {
    String body =
        "{\"token_ids\":[1,2],\"sampling_params\":{\"max_tokens\":9,"
            + "\"extra_args\":{\"kv_transfer_params\":{\"a\":\"planted\"},\"mine\":1}}}";
    List<String> steps = steps(protocol, Endpoint.TOKEN_GENERATE, body);

    assertThat(steps)
        .hasSizeGreaterThan(1)
        .allMatch(step -> step.contains("\"mine\":1"))
        .noneMatch(step -> step.contains("planted"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"nixl", "transparent", "orchestrated"})
  void bodiesWithoutForeignFieldsStayUnchanged(String protocol) {
    String body = "{ \"prompt\" : \"a\", \"vllm_xargs\":{ } ,\"max_tokens\":9 }";
    String decode = steps(protocol, Endpoint.COMPLETIONS, body).get(1);

    assertThat(decode).contains(protocol.equals("orchestrated") ? body.substring(0, 50) : body);
  }

  @Test
  void theListOfForeignFieldsIsComplete() {
    assertThat(Protocols.names())
        .filteredOn(name -> !Protocols.servesWhole(name))
        .containsExactly("moriio", "p2p_nccl", "sglang");
  }
}
