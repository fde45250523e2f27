package io.pointsman.pd.protocol;

import static io.pointsman.pd.protocol.PlannedExchange.decodeStep;
import static io.pointsman.pd.protocol.PlannedExchange.log;
import static io.pointsman.pd.protocol.PlannedExchange.reply;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.PeerTable;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.Terms;
import io.pointsman.request.Endpoint;
import io.pointsman.request.splice.Edits;
import org.junit.jupiter.api.Test;

/** Requests of {@code transparent}, {@code orchestrated} and {@code p2p_nccl}. */
class SequentialProtocolsTest {
  private static final String BODY = "{\"prompt\": \"a\",\"max_tokens\": 200,\"stream\": true}";

  @Test
  void transparentSendsTheClientsOwnRequestToDecode() {
    PlannedExchange exchange = new PlannedExchange("transparent");
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, BODY);

    assertThat(log(plan.prefill(), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.11:8100/v1/completions
            x-request-id: 6f1c

            {"prompt": "a","max_tokens": 1,"stream": false}
            """);
    assertThat(log(decodeStep(plan.handover().to(exchange.decode, reply("{}"))), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/completions
            x-request-id: 6f1c

            %s
            """
                .formatted(BODY));
    assertThat(plan.terms().release()).isEqualTo(Terms.Release.NOTHING);
    assertThat(plan.terms().bond()).isEqualTo(Terms.Bond.ANY_DECODE);
  }

  @Test
  void orchestratedForwardsTheCompleteAnswer() {
    PlannedExchange exchange = new PlannedExchange("orchestrated");
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, BODY);
    String answer = "{\"id\":\"x\", \"usage\":{\"prompt_tokens\":1E0},\"opaque\":[ ]}";

    assertThat(Edits.edited(BODY, plan.prefill().edits()))
        .isEqualTo("{\"prompt\": \"a\",\"max_tokens\": 1,\"stream\": false}");
    assertThat(log(decodeStep(plan.handover().to(exchange.decode, reply(answer))), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/completions
            x-request-id: 6f1c

            {"prompt": "a","max_tokens": 200,"stream": true,"disagg_prefill_resp":%s}
            """
                .formatted(answer));
  }

  @Test
  void p2pNcclPutsBothAddressesIntoTheIdOfBothRequests() {
    PlannedExchange exchange = new PlannedExchange("p2p_nccl");
    exchange.peers.update("p", peer -> peer.withKvAddress("10.2.0.11:21001"));
    exchange.peers.update("d", peer -> peer.withKvAddress("10.2.0.21:22001"));
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, BODY);
    String id =
        "___prefill_addr_10.2.0.11:21001___decode_addr_10.2.0.21:22001_" + PlannedExchange.NONCE;

    assertThat(log(plan.prefill(), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.11:8100/v1/completions
            x-request-id: %s

            {"prompt": "a","max_tokens": 1,"stream": false}
            """
                .formatted(id));
    assertThat(log(decodeStep(plan.handover().to(exchange.decode, reply("{}"))), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/completions
            x-request-id: %s

            %s
            """
                .formatted(id, BODY));
    assertThat(plan.terms().bond()).isEqualTo(Terms.Bond.THIS_DECODE);
    assertThat(plan.terms().release()).isEqualTo(Terms.Release.SEND_ONCE);
    assertThat(plan.terms().releasing()).isNotEmpty();
  }

  /** vLLM's route reads its id from the body and ignores the header. */
  @Test
  void p2pNcclPutsThemIntoTheBodyOfAResponse() {
    String body = "{\"input\":\"a\",\"request_id\":\"mine\"}";
    PdPlan.Sequential plan = new PlannedExchange("p2p_nccl").sequential(Endpoint.RESPONSES, body);
    String id =
        "___prefill_addr_10.2.0.11:8100___decode_addr_10.2.0.21:8200_" + PlannedExchange.NONCE;

    assertThat(log(plan.prefill(), body))
        .isEqualTo(
            """
            POST http://10.2.0.11:8100/v1/responses
            x-request-id: %s

            {"input":"a","request_id":"resp_%s-0","max_output_tokens":1,"stream":false,"store":false}
            """
                .formatted(id, id));
    assertThat(
            log(
                decodeStep(plan.handover().to(new PlannedExchange("p2p_nccl").decode, reply("{}"))),
                body))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/responses
            x-request-id: %s

            {"input":"a","request_id":"resp_%s-0"}
            """
                .formatted(id, id));
  }

  @Test
  void p2pNcclUsesTheUrlOfAWorkerWithoutRegistration() {
    PdPlan.Sequential plan = new PlannedExchange("p2p_nccl").sequential(Endpoint.COMPLETIONS, BODY);

    assertThat(plan.prefill().headers().getFirst().value())
        .startsWith("___prefill_addr_10.2.0.11:8100___decode_addr_10.2.0.21:8200_");
  }

  @Test
  void p2pNcclDoesNotPutAnIpv6AddressIntoAnId() {
    PlannedExchange exchange = new PlannedExchange("p2p_nccl");
    Worker six = exchange.worker("six", "http://[fe80::1]:8200", Role.DECODE, -1);

    PdPlan plan =
        exchange
            .setup
            .protocol()
            .plan(PlannedExchange.request(Endpoint.COMPLETIONS, BODY, null), exchange.prefill, six);
    assertThat(plan).isInstanceOf(PdPlan.Unplanned.class);
  }

  @Test
  void anUnknownProtocolIsRefusedWithAllNames() {
    assertThat(Protocols.names()).hasSize(8);
    assertThatThrownBy(
            () -> Protocols.create("nixel", new PeerTable(1), ProtocolSettings.DEFAULTS, () -> 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("nixel")
        .hasMessageContaining("mooncake, moriio, nixl");
  }
}
