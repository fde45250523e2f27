package io.pointsman.pd.protocol;

import static io.pointsman.pd.protocol.PlannedExchange.decodeStep;
import static io.pointsman.pd.protocol.PlannedExchange.log;
import static io.pointsman.pd.protocol.PlannedExchange.reply;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.Peer.TransferMode;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.Terms;
import io.pointsman.proxy.wire.Header;
import io.pointsman.request.Endpoint;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Requests of {@code mooncake}, {@code moriio} and {@code sglang}. */
class ConcurrentProtocolsTest {
  private static final String BODY = "{\"prompt\": \"a\",\"max_tokens\": 200,\"stream\": true}";
  private static final String KEPT = "{\"prompt\": \"a\",\"max_tokens\": 200,\"stream\": true,";
  private static final String PREFILL = "{\"prompt\": \"a\",\"max_tokens\": 1,\"stream\": false,";

  @Test
  void mooncakeStepsMeetByTransferIdAndBootstrapServer() {
    PlannedExchange exchange = new PlannedExchange("mooncake");
    exchange.peers.update("p", peer -> peer.withEngineIds(List.of("e-0")));
    PdPlan.Concurrent plan = exchange.concurrent(Endpoint.COMPLETIONS, BODY);

    assertThat(log(plan.prefill(), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.11:8100/v1/completions
            x-request-id: 6f1c
            x-data-parallel-rank: 0

            %s"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false,\
            "transfer_id":"xfer-3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c"}}
            """
                .formatted(PREFILL));
    assertThat(log(plan.decode(), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/completions
            x-request-id: 6f1c

            %s"kv_transfer_params":{"do_remote_decode":false,"do_remote_prefill":true,\
            "transfer_id":"xfer-3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c","remote_engine_id":"e-0",\
            "remote_bootstrap_addr":"http://10.2.0.11:8998"}}
            """
                .formatted(KEPT));
    PlannedExchange.heldUnlessCancelled(plan, Terms.Bond.ANY_DECODE);
  }

  @Test
  void mooncakeNamesTheEngineOfTheRequestedRank() {
    PlannedExchange exchange = new PlannedExchange("mooncake");
    Worker rank = exchange.worker("p@1", "http://[fe80::1]:8100", Role.PREFILL, 1);
    exchange.peers.update(
        "p@1", peer -> peer.withEngineIds(List.of("e-0", "e-1")).withBootstrapPort(9000));
    PdPlan plan =
        exchange
            .setup
            .protocol()
            .plan(PlannedExchange.request(Endpoint.COMPLETIONS, BODY, null), rank, exchange.decode);

    PdPlan.Concurrent concurrent = (PdPlan.Concurrent) plan;
    assertThat(concurrent.prefill().headers()).contains(new Header(Header.RANK, "1"));
    assertThat(log(concurrent.decode(), BODY))
        .contains("\"remote_engine_id\":\"e-1\"")
        .contains("\"remote_bootstrap_addr\":\"http://[fe80::1]:9000\"");
  }

  @Test
  void mooncakeWaitsForTheEngineId() {
    PlannedExchange exchange = new PlannedExchange("mooncake");

    assertThat(exchange.unplanned(Endpoint.COMPLETIONS, BODY).worker()).isSameAs(exchange.prefill);
  }

  /** vLLM ignores the header with the rank there. */
  @Test
  void mooncakeKnowsNoRankOnResponses() {
    String body = "{\"input\":\"a\"}";
    PlannedExchange exchange = new PlannedExchange("mooncake");
    exchange.peers.update("p", peer -> peer.withEngineIds(List.of("e-0", "e-1")));
    assertThat(exchange.unplanned(Endpoint.RESPONSES, body).worker()).isSameAs(exchange.prefill);
    exchange.concurrent(Endpoint.MESSAGES, BODY);

    exchange.peers.update("p", peer -> peer.withEngineIds(List.of("e-0")));
    exchange.concurrent(Endpoint.RESPONSES, body);
  }

  private static final String PAIR =
      "___prefill_addr_host:10.2.0.11,handshake:6301,notify:61005"
          + "___decode_addr_host:10.2.0.21,handshake:6301,notify:61005_"
          + PlannedExchange.NONCE;

  private static PlannedExchange moriio(TransferMode mode) {
    PlannedExchange exchange = new PlannedExchange("moriio");
    exchange.peers.update(
        "p",
        peer ->
            peer.withKvAddress("host:10.2.0.11,handshake:6301,notify:61005")
                .withMode(mode)
                .withDpSize(1)
                .withTpSize(8));
    exchange.peers.update(
        "d",
        peer ->
            peer.withKvAddress("host:10.2.0.21,handshake:6301,notify:61005")
                .withMode(mode)
                .withDpSize(2)
                .withTpSize(4));
    return exchange;
  }

  private static final String MORIIO_PREFILL =
      """
      POST http://10.2.0.11:8100/v1/completions
      x-request-id: %s

      %s"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false,\
      "remote_engine_id":null,"remote_block_ids":null,\
      "transfer_id":"tx-3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c","remote_dp_size":2,\
      "remote_tp_size":4}}
      """
          .formatted(PAIR, PREFILL);

  @Test
  void moriioReadForwardsTheParametersOfPrefill() {
    PlannedExchange exchange = moriio(TransferMode.READ);
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, BODY);
    String params = "{\"remote_engine_id\":\"e\", \"remote_block_ids\":[1, 2],\"x\":1.0}";

    assertThat(log(plan.prefill(), BODY)).isEqualTo(MORIIO_PREFILL);
    assertThat(
            log(
                decodeStep(
                    plan.handover()
                        .to(exchange.decode, reply("{\"kv_transfer_params\":" + params + "}"))),
                BODY))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/completions
            x-request-id: %s

            %s"kv_transfer_params":{"remote_engine_id":"e", "remote_block_ids":[1, 2],"x":1.0,\
            "remote_dp_size":1,"remote_tp_size":8,\
            "transfer_id":"tx-3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c"}}
            """
                .formatted(PAIR, KEPT));
  }

  @Test
  void moriioWriteSendsBothRequestsTogether() {
    PdPlan.Concurrent plan = moriio(TransferMode.WRITE).concurrent(Endpoint.COMPLETIONS, BODY);

    assertThat(log(plan.prefill(), BODY)).isEqualTo(MORIIO_PREFILL);
    assertThat(log(plan.decode(), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/completions
            x-request-id: %s

            %s"kv_transfer_params":{"do_remote_decode":false,"do_remote_prefill":true,\
            "remote_engine_id":null,"remote_block_ids":null,\
            "transfer_id":"tx-3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c","remote_dp_size":1,\
            "remote_tp_size":8}}
            """
                .formatted(PAIR, KEPT));
    PlannedExchange.heldUnlessCancelled(plan, Terms.Bond.THIS_DECODE);
  }

  @Test
  void moriioSendsDecodeTheRankOfPrefill() {
    PlannedExchange exchange = moriio(TransferMode.WRITE);
    Worker rank = exchange.worker("p@1", "http://10.2.0.11:8100", Role.PREFILL, 1);
    exchange.peers.update(
        "p@1",
        peer -> peer.withKvAddress("a:1").withMode(TransferMode.WRITE).withDpSize(2).withTpSize(1));

    PdPlan.Concurrent plan =
        (PdPlan.Concurrent)
            exchange
                .setup
                .protocol()
                .plan(
                    PlannedExchange.request(Endpoint.COMPLETIONS, BODY, null),
                    rank,
                    exchange.decode);
    assertThat(log(plan.decode(), BODY)).contains("\"remote_dp_rank\":1");
    PdPlan.Concurrent responses =
        (PdPlan.Concurrent)
            exchange
                .setup
                .protocol()
                .plan(
                    PlannedExchange.request(Endpoint.RESPONSES, "{\"input\":\"a\"}", null),
                    rank,
                    exchange.decode);
    assertThat(log(responses.decode(), BODY))
        .contains("\"remote_dp_size\":2")
        .doesNotContain("remote_dp_rank");
  }

  @Test
  void moriioWaitsForBothRegistrations() {
    PlannedExchange exchange = new PlannedExchange("moriio");
    assertThat(exchange.unplanned(Endpoint.COMPLETIONS, BODY).worker()).isSameAs(exchange.prefill);

    PlannedExchange mixed = moriio(TransferMode.WRITE);
    mixed.peers.update("d", peer -> peer.withMode(TransferMode.READ));
    assertThat(mixed.unplanned(Endpoint.COMPLETIONS, BODY).worker()).isSameAs(mixed.decode);
  }

  @Test
  void sglangSendsBothTheSameRequest() {
    PlannedExchange exchange = new PlannedExchange("sglang");
    exchange.peers.update("p", peer -> peer.withBootstrapPort(8998));
    PdPlan.Concurrent plan = exchange.concurrent(Endpoint.CHAT_COMPLETIONS, BODY);
    String sent =
        KEPT
            + "\"bootstrap_host\":\"10.2.0.11\",\"bootstrap_port\":8998,"
            + "\"bootstrap_room\":"
            + (0x3f2a9c0b4d5e4f6aL >>> 1)
            + "}";

    assertThat(log(plan.prefill(), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.11:8100/v1/chat/completions
            x-request-id: 6f1c

            %s
            """
                .formatted(sent));
    assertThat(log(plan.decode(), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/chat/completions
            x-request-id: 6f1c

            %s
            """
                .formatted(sent));
    assertThat(plan.terms().release()).isEqualTo(Terms.Release.CANCEL_BOTH);
  }

  /** Without the rank of prefill, decode derives one from the room. */
  @Test
  void sglangSendsBothTheirRanks() {
    PlannedExchange exchange = new PlannedExchange("sglang");
    Worker first = exchange.worker("p@1", "http://10.2.0.11:8100", Role.PREFILL, 1);
    Worker second = exchange.worker("d@0", "http://10.2.0.21:8200", Role.DECODE, 0);
    String body = "{\"disagg_prefill_dp_rank\":7,\"routed_dp_rank\":7,\"data_parallel_rank\":7}";
    PdPlan.Concurrent plan =
        (PdPlan.Concurrent)
            exchange
                .setup
                .protocol()
                .plan(PlannedExchange.request(Endpoint.GENERATE, body, null), first, second);

    assertThat(log(plan.prefill(), body)).contains("{\"routed_dp_rank\":1,").doesNotContain(":7");
    assertThat(log(plan.decode(), body))
        .contains("{\"disagg_prefill_dp_rank\":1,\"routed_dp_rank\":0,")
        .doesNotContain(":7");
    assertThat(log(plan.prefill(), body)).doesNotContain("disagg_prefill_dp_rank");
  }

  @Test
  void sglangOmitsAnUnknownPort() {
    PdPlan.Concurrent plan = new PlannedExchange("sglang").concurrent(Endpoint.GENERATE, "{}");

    assertThat(log(plan.decode(), "{}")).contains("\"bootstrap_port\":null");
  }
}
