package io.pointsman.pd.protocol;

import static io.pointsman.pd.protocol.PlannedExchange.decodeStep;
import static io.pointsman.pd.protocol.PlannedExchange.log;
import static io.pointsman.pd.protocol.PlannedExchange.reply;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixMark;
import io.pointsman.pd.plan.Conversation;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.plan.Terms;
import io.pointsman.pd.protocol.ProtocolSettings.RemoteHost;
import io.pointsman.proxy.wire.Header;
import io.pointsman.request.Endpoint;
import io.pointsman.request.splice.Edits;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NixlProtocolTest {
  private static final ProtocolSettings TURNS =
      ProtocolSettings.DEFAULTS.withTurnTtl(Duration.ofSeconds(450));

  private static final String BODY =
      "{\"model\":\"llama\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],"
          + "\"max_tokens\":200,\"stream\":true,\"stream_options\":{\"include_usage\":true}}";
  private static final String HANDED_OVER =
      "{\"do_remote_prefill\": true, \"do_remote_decode\": false,"
          + " \"remote_block_ids\": [[17, 18],[ ]], \"remote_engine_id\": \"5f0d\","
          + " \"remote_host\": \"localhost\", \"remote_port\": 5600,"
          + " \"x_unknown\": {\"deep\":[1.50e+3,123456789012345678901]}}";

  private final PlannedExchange exchange = new PlannedExchange("nixl", TURNS);

  private static PrefillReply answer(String params) {
    return reply("{\"id\":\"c\",\"choices\":[],\"kv_transfer_params\": " + params + "}");
  }

  private static String pushing(String mode) {
    return "{\"transfer_mode\":\""
        + mode
        + "\",\"remote_engine_id\":\"5f0d\",\"remote_host\":\"10.2.0.11\","
        + "\"remote_port\":5600,\"tp_size\":2}";
  }

  @Test
  void prefillIsRequestedToKeepItsBlocks() {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.CHAT_COMPLETIONS, BODY);

    assertThat(log(plan.prefill(), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.11:8100/v1/chat/completions
            x-request-id: 6f1c

            {"model":"llama","messages":[{"role":"user","content":"Hi"}],"max_tokens":1,\
            "stream":false,"kv_transfer_params":{"do_remote_decode":true,\
            "do_remote_prefill":false,"remote_engine_id":null,"remote_block_ids":null,\
            "remote_host":null,"remote_port":null}}
            """);
    assertThat(plan.await()).isNull();
  }

  @Test
  void decodeGetsTheClientsBodyAndThePrefillParametersByteForByte() {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.CHAT_COMPLETIONS, BODY);

    assertThat(log(decodeStep(plan.handover().to(exchange.decode, answer(HANDED_OVER))), BODY))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/chat/completions
            x-request-id: 6f1c

            %s,"kv_transfer_params":%s}
            """
                .formatted(BODY.substring(0, BODY.length() - 1), HANDED_OVER));
  }

  @Test
  void aClientsOwnParametersNeverReachAnEngine() {
    String body = "{\"prompt\":\"a\",\"kv_transfer_params\":{\"remote_host\":\"evil\"}}";
    PdPlan.Sequential plan = exchange.sequential(Endpoint.COMPLETIONS, body);

    assertThat(Edits.edited(body, plan.prefill().edits())).doesNotContain("evil");
    for (String params : new String[] {"null", HANDED_OVER}) {
      assertThat(
              Edits.edited(
                  body, decodeStep(plan.handover().to(exchange.decode, answer(params))).edits()))
          .doesNotContain("evil");
    }
  }

  @Test
  void withoutAHandOverDecodeComputesThePrompt() {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.CHAT_COMPLETIONS, BODY);

    assertThat(
            Edits.edited(
                BODY, decodeStep(plan.handover().to(exchange.decode, answer("null"))).edits()))
        .isEqualTo(BODY);
  }

  @Test
  void anyDecodeWorkerMayFetchTheBlocksAndOneMust() {
    PdPlan.Sequential plan = exchange.sequential(Endpoint.CHAT_COMPLETIONS, BODY);

    assertThat(plan.terms().bond()).isEqualTo(Terms.Bond.ANY_DECODE);
    assertThat(plan.terms().lease()).isEqualTo(Duration.ofSeconds(30));
    assertThat(plan.terms().release()).isEqualTo(Terms.Release.SEND_DECODE);
    assertThat(Edits.edited(BODY, plan.terms().releasing()))
        .isEqualTo(
            "{\"model\":\"llama\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],"
                + "\"max_tokens\":1,\"stream\":false}");
    assertThat(decodeStep(plan.handover().to(exchange.otherDecode, answer(HANDED_OVER))).worker())
        .isSameAs(exchange.otherDecode);
  }

  @ParameterizedTest
  @CsvSource({
    "KEEP,localhost,localhost",
    "KEEP,10.9.9.9,10.9.9.9",
    "REPLACE_IF_LOOPBACK,localhost,10.2.0.11",
    "REPLACE_IF_LOOPBACK,127.0.0.1,10.2.0.11",
    "REPLACE_IF_LOOPBACK,::1,10.2.0.11",
    "REPLACE_IF_LOOPBACK,0.0.0.0,10.2.0.11",
    "REPLACE_IF_LOOPBACK,10.9.9.9,10.9.9.9",
    "REPLACE_IF_LOOPBACK,localhost.lan,localhost.lan",
    "REPLACE,10.9.9.9,10.2.0.11"
  })
  void theRemoteHostIsTreatedAsConfigured(RemoteHost rule, String said, String sent) {
    PlannedExchange ruled =
        new PlannedExchange("nixl", ProtocolSettings.DEFAULTS.withRemoteHost(rule));
    PdPlan.Sequential plan = ruled.sequential(Endpoint.COMPLETIONS, "{}");
    String params = HANDED_OVER.replace("\"localhost\"", "\"" + said + "\"");

    assertThat(
            Edits.edited(
                "{}", decodeStep(plan.handover().to(ruled.decode, answer(params))).edits()))
        .isEqualTo(
            "{\"kv_transfer_params\":"
                + HANDED_OVER.replace("\"localhost\"", "\"" + sent + "\"")
                + "}");

    ruled.setup.listeners().getFirst().prefilled(ruled.prefill, pushingFrom(said));
    PdPlan.Concurrent pushed = ruled.concurrent(Endpoint.COMPLETIONS, "{}");
    assertThat(Edits.edited("{}", pushed.decode().edits()))
        .containsOnlyOnce("\"remote_host\"")
        .contains("\"remote_host\":\"" + sent + "\"");
  }

  private static PrefillReply pushingFrom(String host) {
    return answer(pushing("push").replace("10.2.0.11", host));
  }

  @Test
  void aPushingPrefillWorkerIsCalledTogetherWithDecode() {
    exchange.setup.listeners().getFirst().prefilled(exchange.prefill, answer(pushing("push")));
    PdPlan.Concurrent plan = exchange.concurrent(Endpoint.COMPLETIONS, "{\"prompt\":\"a\"}");

    assertThat(log(plan.decode(), "{\"prompt\":\"a\"}"))
        .isEqualTo(
            """
            POST http://10.2.0.21:8200/v1/completions
            x-request-id: 3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c

            {"prompt":"a","kv_transfer_params":{"do_remote_prefill":true,\
            "do_remote_decode":false,"remote_engine_id":"5f0d","remote_host":"10.2.0.11",\
            "remote_port":5600,"tp_size":2,\
            "remote_request_id":"3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c"}}
            """);
    assertThat(Edits.edited("{}", plan.prefill().edits())).contains("\"do_remote_decode\":true");
    assertThat(plan.prefill().headers())
        .containsExactly(new Header(Header.REQUEST_ID, PlannedExchange.NONCE));
    PlannedExchange.heldUnlessCancelled(plan, Terms.Bond.ANY_DECODE);
  }

  @Test
  void theAnswerCanRevokeThePushThatDecodeReliesOn() {
    exchange.setup.listeners().getFirst().prefilled(exchange.prefill, answer(pushing("push")));
    PdPlan.Promise promise =
        requireNonNull(exchange.concurrent(Endpoint.COMPLETIONS, "{}").promise());

    assertThat(promise.kept()).accepts(answer(pushing("push")));
    assertThat(promise.kept()).rejects(answer("null"), answer(HANDED_OVER), answer("{}"));
    assertThat(
            Edits.edited(
                "{}", decodeStep(promise.fetch().to(exchange.decode, answer(HANDED_OVER))).edits()))
        .isEqualTo("{\"kv_transfer_params\":" + HANDED_OVER + "}");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aWorkerThatWasDownCountsAsANewEngine(boolean wellAgain) {
    HandoverListener memory = exchange.setup.listeners().getFirst();
    memory.prefilled(exchange.prefill, answer(pushing("push")));
    while (exchange.prefill.health().healthy()) {
      exchange.prefill.probed(false);
    }
    while (wellAgain && !exchange.prefill.health().healthy()) {
      exchange.prefill.probed(true);
    }
    exchange.sequential(Endpoint.COMPLETIONS, "{}");

    memory.prefilled(exchange.prefill, answer(pushing("push")));
    exchange.concurrent(Endpoint.COMPLETIONS, "{}");
  }

  @Test
  void aWorkerThatFailedWithDecodeMustAnnouncePushingAgain() {
    HandoverListener memory = exchange.setup.listeners().getFirst();
    memory.prefilled(exchange.prefill, answer(pushing("push")));
    memory.failedTogether(exchange.prefill);
    exchange.sequential(Endpoint.COMPLETIONS, "{}");

    memory.prefilled(exchange.prefill, answer(pushing("push")));
    exchange.concurrent(Endpoint.COMPLETIONS, "{}");
  }

  @Test
  void aWorkerStopsPushingByItsAnswerOrByLeaving() {
    HandoverListener memory = exchange.setup.listeners().getFirst();
    memory.prefilled(exchange.prefill, answer(pushing("push")));
    memory.prefilled(exchange.prefill, answer("null"));
    exchange.concurrent(Endpoint.COMPLETIONS, "{}");

    memory.prefilled(exchange.prefill, answer(pushing("pull")));
    exchange.sequential(Endpoint.COMPLETIONS, "{}");

    memory.prefilled(exchange.prefill, answer(pushing("push")));
    memory.forget(exchange.prefill);
    exchange.sequential(Endpoint.COMPLETIONS, "{}");
  }

  @Test
  void aWorkerThatHasLeftIsNotRemembered() {
    exchange.fleet.remove("p");
    exchange.setup.listeners().getFirst().prefilled(exchange.prefill, answer(pushing("push")));

    exchange.sequential(Endpoint.COMPLETIONS, "{}");
  }

  @Test
  void turnsAreComputedByDefault() {
    PlannedExchange usual = new PlannedExchange("nixl");
    PrefixBlocks answered = turn("c", 1, 2).prompt();
    firstTurn(usual, "c", TURN, new PrefixMark(answered.whole(), 2));

    assertThat(prefillBody(usual, turn("c", 1, 2, 3))).contains("\"remote_block_ids\":null");
  }

  private static final String TURN =
      "{\"do_remote_prefill\":false,\"do_remote_decode\":true, \"remote_block_ids\":[[9]]}";

  /**
   * @param pieces one block each
   */
  private static Conversation turn(String session, long... pieces) {
    int count = pieces.length;
    PrefixBlocks prompt = PrefixBlocks.chain(0, pieces, count, count * 16, 16, count * 16);
    return new Conversation(session, "o", "m", prompt);
  }

  private String secondTurn(String session) {
    return prefillBody(exchange, turn(session, 1, 2, 3));
  }

  private static String prefillBody(PlannedExchange exchange, Conversation turn) {
    PdRequest request = PlannedExchange.request(Endpoint.CHAT_COMPLETIONS, "{}", turn);
    return switch (exchange.setup.protocol().plan(request, exchange.prefill, exchange.decode)) {
      case PdPlan.Sequential plan -> Edits.edited("{}", plan.prefill().edits());
      case PdPlan.Concurrent plan -> throw new AssertionError(plan);
      case PdPlan.Unplanned plan -> throw new AssertionError(plan);
    };
  }

  private void firstTurn(String session, String params) {
    PrefixBlocks answered = turn(session, 1, 2).prompt();
    firstTurn(exchange, session, params, new PrefixMark(answered.whole(), 2));
  }

  private static void firstTurn(
      PlannedExchange exchange, String session, String params, @Nullable PrefixMark next) {
    PdRequest request = PlannedExchange.request(Endpoint.CHAT_COMPLETIONS, "{}", turn(session, 1));
    exchange.setup.listeners().getFirst().decoded(request, exchange.decode, answer(params), next);
  }

  @Test
  void theNextTurnsPrefillFetchesFromDecodeOnce() {
    firstTurn("c", TURN);

    assertThat(secondTurn("other")).contains("\"remote_block_ids\":null");
    assertThat(secondTurn("c"))
        .isEqualTo("{\"max_tokens\":1,\"stream\":false,\"kv_transfer_params\":" + TURN + "}");
    assertThat(secondTurn("c")).contains("\"remote_block_ids\":null");
  }

  @Test
  void aPromptThatDoesNotContinueTheAnswerFetchesNothing() {
    firstTurn("c", TURN);

    assertThat(prefillBody(exchange, turn("c", 1, 9, 3))).contains("\"remote_block_ids\":null");
    assertThat(prefillBody(exchange, turn("c", 1))).contains("\"remote_block_ids\":null");
    assertThat(secondTurn("c")).contains(TURN);
  }

  @Test
  void anAnswerWithoutAMarkIsNotRemembered() {
    firstTurn(exchange, "c", TURN, null);

    assertThat(secondTurn("c")).contains("\"remote_block_ids\":null");
  }

  @ParameterizedTest
  @CsvSource({
    "KEEP,localhost,localhost",
    "REPLACE_IF_LOOPBACK,localhost,10.2.0.21",
    "REPLACE_IF_LOOPBACK,10.9.9.9,10.9.9.9",
    "REPLACE,10.9.9.9,10.2.0.21"
  })
  void theHostOfATurnIsTheDecodeWorkers(RemoteHost rule, String said, String sent) {
    PlannedExchange ruled = new PlannedExchange("nixl", TURNS.withRemoteHost(rule));
    String params = "{\"do_remote_decode\":true,\"remote_host\":\"%s\"}";
    PrefixBlocks answered = turn("c", 1, 2).prompt();
    firstTurn(ruled, "c", params.formatted(said), new PrefixMark(answered.whole(), 2));

    assertThat(prefillBody(ruled, turn("c", 1, 2, 3))).contains(params.formatted(sent));
  }

  @Test
  void aTurnExpiresBeforeTheEngineFreesItsBlocks() {
    firstTurn("c", TURN);
    exchange.clock.advance(Duration.ofSeconds(450).minusNanos(1));
    assertThat(secondTurn("c")).contains(TURN);

    firstTurn("c", TURN);
    exchange.clock.advance(Duration.ofSeconds(450));
    assertThat(secondTurn("c")).doesNotContain(TURN);
  }

  @Test
  void aTurnIsDiscardedWithItsWorker() {
    firstTurn("c", TURN);
    exchange.fleet.remove("d");

    assertThat(secondTurn("c")).doesNotContain(TURN);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTurnOfAWorkerThatWasDownIsNotUsed(boolean wellAgain) {
    firstTurn("c", TURN);
    while (exchange.decode.health().healthy()) {
      exchange.decode.probed(false);
    }
    while (wellAgain && !exchange.decode.health().healthy()) {
      exchange.decode.probed(true);
    }

    assertThat(secondTurn("c")).doesNotContain(TURN);
  }

  @ParameterizedTest
  @ValueSource(strings = {"null", "{\"do_remote_decode\":false}", "{}"})
  void anAnswerThatOffersNothingIsNotRemembered(String params) {
    firstTurn("c", params);

    assertThat(secondTurn("c")).contains("\"remote_block_ids\":null");
  }
}
