package io.pointsman.pd.protocol;

import static io.pointsman.pd.protocol.PlannedExchange.decodeStep;
import static io.pointsman.pd.protocol.PlannedExchange.log;
import static io.pointsman.pd.protocol.PlannedExchange.reply;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.pd.peer.BlockReceiver;
import io.pointsman.pd.plan.Continuation;
import io.pointsman.pd.plan.FirstToken;
import io.pointsman.pd.plan.NotificationWait;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.Terms;
import io.pointsman.request.Endpoint;
import io.pointsman.request.splice.Edits;
import io.pointsman.request.splice.RawJson;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LmcacheProtocolTest {
  private static final BlockReceiver RECEIVER =
      new BlockReceiver("10.2.0.21", List.of(8300, 8301), List.of(8400, 8401));
  private static final String IDS =
      "{\"model\":\"llama\",\"prompt\":[128000, 9906, 11],\"max_tokens\":200}";
  private static final String ANSWER =
      "{\"choices\":[{\"index\":0,\"text\":\" Hello\",\"finish_reason\":\"length\"}],"
          + "\"kv_transfer_params\":{\"first_tok\":22691,\"num_lmcache_cached_tokens\":0}}";

  private final PlannedExchange exchange = exchange();

  private static PlannedExchange exchange() {
    PlannedExchange exchange = new PlannedExchange("lmcache");
    exchange.peers.update("d", peer -> peer.withReceiver(RECEIVER));
    return exchange;
  }

  @Test
  void prefillGetsTheAddressForItsBlocks() {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, IDS);

    assertThat(log(plan.prefill(), IDS))
        .isEqualTo(
            """
            POST http://10.2.0.11:8100/v1/completions
            x-request-id: 6f1c

            {"model":"llama","prompt":[128000, 9906, 11],"max_tokens":1,"stream":false,\
            "kv_transfer_params":{"ret_first_tok":true,"disagg_spec":{\
            "req_id":"3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c","receiver_host":"10.2.0.21",\
            "receiver_init_port":[8300,8301],"receiver_alloc_port":[8400,8401]}}}
            """);
    assertThat(plan.await())
        .isEqualTo(new NotificationWait(PlannedExchange.NONCE, 2, Duration.ofSeconds(10)));
    assertThat(plan.terms().bond()).isEqualTo(Terms.Bond.THIS_DECODE);
  }

  @Test
  void decodeContinuesAfterTheFirstToken() {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, IDS);
    Continuation continuation = plan.handover().to(exchange.decode, reply(ANSWER));

    assertThat(log(decodeStep(continuation), IDS))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/completions
            x-request-id: 6f1c

            {"model":"llama","prompt":[128000, 9906, 11,22691],"max_tokens":199}
            """);
    FirstToken first = ((Continuation.Decode) continuation).first();
    assertThat(first).isNotNull();
    if (first != null) {
      assertThat(first.text()).isEqualTo(RawJson.of("\" Hello\""));
      assertThat(
              Edits.edited(
                  "{\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":7}}", first.usage()))
          .isEqualTo("{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":8}}");
    }
  }

  @Test
  void anAnswerThatEndsWithItsFirstTokenIsComplete() {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, IDS);

    assertThat(plan.handover().to(exchange.decode, reply(ANSWER.replace("\"length\"", "\"stop\""))))
        .isEqualTo(new Continuation.Complete());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"prompt\":\"text\",\"max_tokens\":200}",
        "{\"prompt\":[1,2]}",
        "{\"prompt\":[1,2],\"max_tokens\":1}",
        "{\"prompt\":[1,2],\"max_tokens\":9,\"logprobs\":1}",
        "{\"prompt\":[1,2],\"max_tokens\":9,\"stop\":[\"x\"]}",
        "{\"prompt\":[1,2],\"max_tokens\":9,\"min_tokens\":2}",
        "{\"prompt\":[1,2],\"max_tokens\":9,\"frequency_penalty\":0.5}",
        "{\"prompt\":[1,2],\"max_tokens\":9,\"logit_bias\":{\"7\":1}}",
        "{\"prompt\":[1,2],\"max_tokens\":9,\"response_format\":{\"type\":\"json_object\"}}",
        "{\"prompt\":[1,2],\"max_tokens\":9,\"guided_regex\":\"a+\"}",
        "{\"prompt\":[1,2],\"max_tokens\":9,\"seed\":1}",
        "{\"prompt\":[1,2],\"max_tokens\":9,\"made_up\":1}",
      })
  void otherCompletionsGetTheirFirstTokenFromDecode(String body) {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, body);
    Continuation continuation = plan.handover().to(exchange.decode, reply(ANSWER));

    assertThat(Edits.edited(body, plan.prefill().edits()))
        .contains("\"kv_transfer_params\":{\"disagg_spec\":{")
        .doesNotContain("ret_first_tok");
    assertThat(Edits.edited(body, decodeStep(continuation).edits())).isEqualTo(body);
    assertThat(((Continuation.Decode) continuation).first()).isNull();
  }

  /** Decode might continue such an answer, for example because of {@code min_tokens}. */
  @Test
  void onlyPlainCompletionsAreCompleteWithTheirFirstToken() {
    String body = "{\"prompt\":[1,2],\"max_tokens\":9,\"min_tokens\":2}";
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, body);
    Continuation continuation =
        plan.handover().to(exchange.decode, reply(ANSWER.replace("\"length\"", "\"stop\"")));

    assertThat(Edits.edited(body, decodeStep(continuation).edits())).isEqualTo(body);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"\"\"", "\" caf\ufffd\"", "\"\\ufffd\"", "\"\\uFFFD\\uFFFD\"", "null", "7"})
  void aTokenWithoutCompleteTextComesFromDecode(String text) {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, IDS);
    Continuation continuation =
        plan.handover().to(exchange.decode, reply(ANSWER.replace("\" Hello\"", text)));

    assertThat(Edits.edited(IDS, decodeStep(continuation).edits())).isEqualTo(IDS);
    assertThat(((Continuation.Decode) continuation).first()).isNull();
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"caf\u00e9\"", "\"\\n\"", "\"\\ud83d\\ude00\"", "\"fffd\""})
  void anyOtherTextPrecedesTheTextOfDecode(String text) {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, IDS);
    Continuation continuation =
        plan.handover().to(exchange.decode, reply(ANSWER.replace("\" Hello\"", text)));

    FirstToken first = requireNonNull(((Continuation.Decode) continuation).first());
    assertThat(first.text()).isEqualTo(RawJson.of(text));
  }

  @Test
  void chatsKeepTheirBodyAndTheirRoute() {
    String body = "{\"messages\":[],\"tools\":[],\"max_tokens\":200}";
    PdPlan.Sequential plan = exchange.sequential(Endpoint.CHAT_COMPLETIONS, body);

    assertThat(log(decodeStep(plan.handover().to(exchange.decode, reply(ANSWER))), body))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/chat/completions
            x-request-id: 6f1c

            %s
            """
                .formatted(body));
  }

  @Test
  void withoutTheFirstTokenDecodeGetsTheClientsPrompt() {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, IDS);

    assertThat(
            Edits.edited(IDS, decodeStep(plan.handover().to(exchange.decode, reply("{}"))).edits()))
        .isEqualTo(IDS);
  }

  @Test
  void theClientsLmcacheSettingsPass() {
    String body = "{\"prompt\":\"a\",\"kv_transfer_params\":{\"lmcache.skip_save\":true}}";
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, body);

    assertThat(Edits.edited(body, plan.prefill().edits()))
        .contains("\"kv_transfer_params\":{\"lmcache.skip_save\":true,\"disagg_spec\":{");
    String asks = body.replace("}}", ",\"ret_first_tok\":true}}");
    assertThat(
            Edits.edited(asks, exchange.sequential(Endpoint.COMPLETIONS, asks).prefill().edits()))
        .contains("\"kv_transfer_params\":{\"lmcache.skip_save\":true,\"disagg_spec\":{");
  }

  @Test
  void aDecodeWorkerWithoutAReceiverUsesTheDefaultReceiver() {
    PlannedExchange common =
        new PlannedExchange("lmcache", ProtocolSettings.DEFAULTS.withReceiver(RECEIVER));

    assertThat(Edits.edited("{}", common.sequential(Endpoint.COMPLETIONS, "{}").prefill().edits()))
        .contains("\"receiver_host\":\"10.2.0.21\"");
    PlannedExchange none = new PlannedExchange("lmcache");
    assertThat(none.unplanned(Endpoint.COMPLETIONS, "{}").worker()).isSameAs(none.decode);
  }
}
