package io.pointsman.tool.sim;

import static io.pointsman.tool.sim.KvPair.CHAT;
import static io.pointsman.tool.sim.KvPair.COMPLETIONS;
import static io.pointsman.tool.sim.KvPair.RESPONSES;
import static io.pointsman.tool.sim.KvPair.decodeBody;
import static io.pointsman.tool.sim.KvPair.ok;
import static io.pointsman.tool.sim.KvPair.prefillBody;
import static io.pointsman.tool.sim.KvPair.refused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvState;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** NIXL by hand over real sockets: pull, push, and transfer back. */
class NixlWireTest {
  private final KvPair pair = new KvPair(KvConnector.NIXL, options -> options.withLogged(10));

  @AfterEach
  void close() {
    pair.close();
  }

  @Test
  void decodePullsTheBlocksThatPrefillDescribes() throws IOException {
    JsonNode params = produce();

    assertThat(params.path("do_remote_prefill").booleanValue()).isTrue();
    assertThat(params.path("do_remote_decode").isBoolean()).isTrue();
    assertThat(params.path("do_remote_decode").booleanValue()).isFalse();
    assertThat(params.path("remote_block_ids").get(0).isArray()).isTrue();
    assertThat(params.path("remote_engine_id").asText())
        .isEqualTo(pair.prefill.kvState().engineId());
    assertThat(params.path("remote_request_id").asText()).startsWith("cmpl-r1");
    assertThat(params.path("remote_host").asText()).isEqualTo("127.0.0.1");
    assertThat(params.path("remote_port").asInt()).isEqualTo(pair.prefill.kvState().port());
    assertThat(params.path("tp_size").asInt()).isEqualTo(1);
    KvState reserved = pair.prefill.kvState();
    assertThat(reserved.reserved().requests()).isEqualTo(1);
    assertThat(reserved.reserved().blocks())
        .isEqualTo(params.path("remote_block_ids").get(0).size());
    assertThat(pair.prefill.state().kv().pinned())
        .isGreaterThanOrEqualTo(reserved.reserved().blocks());

    JsonNode answer = ok(pair.decode, COMPLETIONS, decodeBody().set("kv_transfer_params", params));

    assertThat(answer.path("usage").path("completion_tokens").asInt()).isEqualTo(5);
    pair.settled(1);
    KvState decode = pair.decode.kvState();
    assertThat(decode.steps().decode()).isEqualTo(1);
    assertThat(decode.transfers().tokens()).isEqualTo(params.path("remote_num_tokens").asLong());
    assertThat(decode.fieldErrors()).isEmpty();
  }

  @Test
  void chatIsHandedOverAndStreamed() throws IOException {
    ObjectNode chat = SimJson.object();
    chat.putArray("messages").addObject().put("role", "user").put("content", KvPair.WORDS);
    ObjectNode first = chat.deepCopy().put("max_tokens", 1);
    first.set("kv_transfer_params", KvPair.asks());
    JsonNode params = ok(pair.prefill, CHAT, first).path("kv_transfer_params");
    ObjectNode second = chat.deepCopy().put("max_tokens", 3).put("stream", true);
    HttpResponse<String> stream =
        KvPair.post(pair.decode, CHAT, second.set("kv_transfer_params", params));

    assertThat(stream.statusCode()).isEqualTo(200);
    assertThat(SimWireClient.events(stream.body())).hasSize(6).endsWith("[DONE]");
    pair.settled(1);
  }

  @Test
  void requestsAreLoggedByteByByteIfConfigured() throws IOException {
    ObjectNode body = decodeBody().set("kv_transfer_params", produce());
    ok(pair.decode, COMPLETIONS, body, "X-Request-Id", "abc");

    var logged = pair.decode.requestLog().getLast();
    assertThat(new String(logged.body(), StandardCharsets.UTF_8)).isEqualTo(body.toString());
    assertThat(logged.path()).isEqualTo(COMPLETIONS);
    assertThat(logged.headers())
        .anySatisfy(
            header -> {
              assertThat(header.getKey()).isEqualToIgnoringCase("X-Request-Id");
              assertThat(header.getValue()).isEqualTo("abc");
            });
    assertThat(SimWireClient.get(pair.decode.url() + "/sim/requests").body()).contains("abc");
  }

  @Test
  void handOverIsUsedOnce() throws IOException {
    ObjectNode body = decodeBody().set("kv_transfer_params", produce());
    ok(pair.decode, COMPLETIONS, body);
    pair.settled(1);

    refused(pair.decode, "remote_request_id", COMPLETIONS, body);
    assertThat(pair.decode.kvState().reasons().getLast()).contains("released already");
  }

  @Test
  void kvOfAnotherPromptIsNoticed() throws IOException {
    ObjectNode body = decodeBody().put("prompt", KvPair.WORDS.replace("nine", "nice"));
    refused(pair.decode, "prompt", COMPLETIONS, body.set("kv_transfer_params", produce()));
  }

  @Test
  void restartMakesHandOversStale() throws IOException {
    JsonNode params = produce();
    String before = pair.prefill.kvState().engineId();
    pair.prefill.stop();
    pair.prefill.restart();

    assertThat(pair.prefill.kvState().engineId()).isNotEqualTo(before);
    assertThat(pair.prefill.state().kv().pinned()).isZero();
    refused(
        pair.decode,
        "remote_engine_id",
        COMPLETIONS,
        decodeBody().set("kv_transfer_params", params));
  }

  @Test
  void requestWithoutHandOverIsRefusedByAnEngineOfOneRole() throws IOException {
    refused(pair.decode, "kv_transfer_params", COMPLETIONS, decodeBody());
    refused(pair.prefill, "kv_transfer_params", COMPLETIONS, decodeBody());
  }

  @Test
  void promptWithoutACompleteBlockHasNothingToHandOver() throws IOException {
    ObjectNode first =
        prefillBody().put("prompt", "short").set("kv_transfer_params", KvPair.asks());
    JsonNode answer = ok(pair.prefill, COMPLETIONS, first);

    assertThat(answer.path("kv_transfer_params").isNull()).isTrue();
    assertThat(pair.prefill.kvState().reserved().requests()).isZero();
    ok(pair.decode, COMPLETIONS, decodeBody().put("prompt", "short"));
    assertThat(pair.decode.kvState().steps().direct()).isEqualTo(1);
  }

  @Test
  void lenientEngineCountsAndComputesAgain() throws IOException {
    try (KvPair lenient = new KvPair(KvConnector.NIXL, options -> options.withLenient(true))) {
      ObjectNode params =
          KvPair.asks().put("do_remote_decode", false).put("do_remote_prefill", true);
      ok(lenient.decode, COMPLETIONS, decodeBody().set("kv_transfer_params", params));

      KvState state = lenient.decode.kvState();
      assertThat(state.steps().recomputed()).isEqualTo(1);
      assertThat(state.fieldErrorsInAll()).isEqualTo(1);
    }
  }

  @Test
  void expiredLeaseIsALeak() throws IOException {
    try (KvPair brief = new KvPair(KvConnector.NIXL, options -> options.withLeaseSeconds(0.05))) {
      ObjectNode first = prefillBody().set("kv_transfer_params", KvPair.asks());
      JsonNode params = ok(brief.prefill, COMPLETIONS, first).path("kv_transfer_params");
      KvState state = KvPair.await(brief.prefill, s -> s.reserved().leaked() == 1);

      assertThat(state.reserved().requests()).isZero();
      assertThat(state.reserved().leakedBlocks()).isPositive();
      assertThat(brief.prefill.state().kv().pinned()).isZero();
      ObjectNode late = decodeBody().set("kv_transfer_params", params);
      refused(brief.decode, "remote_request_id", COMPLETIONS, late);
      assertThat(brief.decode.kvState().reasons().getLast()).contains("lease expired");
    }
  }

  @Test
  void clientThatLeavesDuringTheTransferReleasesTheBlocks() throws IOException {
    try (KvPair slow = slow()) {
      ObjectNode first = prefillBody().set("kv_transfer_params", KvPair.asks());
      JsonNode params = ok(slow.prefill, COMPLETIONS, first).path("kv_transfer_params");
      String body = decodeBody().set("kv_transfer_params", params).toString();
      Socket client = SimWireClient.open(slow.decode.port(), COMPLETIONS, body);
      KvPair.await(slow.decode, s -> s.transfers().inProgress() == 1);
      client.close();

      slow.settled(1);
      assertThat(slow.decode.kvState().transfers().inProgress()).isZero();
      assertThat(slow.decode.kvState().transfers().finished()).isZero();
    }
  }

  @Test
  void decodeRenewsTheLeaseWhileItWaits() throws IOException {
    try (KvPair slow =
        new KvPair(
            KvConnector.NIXL,
            SimConfig.instant(),
            options -> options.withLeaseSeconds(9),
            options -> options.withLeaseSeconds(9).withLink(1_000_000_000, 1))) {
      ObjectNode first = prefillBody().set("kv_transfer_params", KvPair.asks());
      JsonNode params = ok(slow.prefill, COMPLETIONS, first).path("kv_transfer_params");
      String body = decodeBody().set("kv_transfer_params", params).toString();
      try (Socket client = SimWireClient.open(slow.decode.port(), COMPLETIONS, body)) {
        KvState state = KvPair.await(slow.prefill, s -> s.reserved().renewals() >= 2);
        assertThat(client.isConnected()).isTrue();
        assertThat(state.reserved().leaked()).isZero();
      }
      slow.settled(1);
    }
  }

  /** A pair with a transfer time of one second per token. */
  private static KvPair slow() {
    return new KvPair(KvConnector.NIXL, options -> options.withLink(1_000_000_000, 1));
  }

  @Test
  void pushRequestsOverlapAndMatchByTheRequestId() throws Exception {
    try (KvPair push = new KvPair(KvConnector.NIXL_PUSH)) {
      ObjectNode first = prefillBody().set("kv_transfer_params", KvPair.asks());
      JsonNode reply = ok(push.prefill, COMPLETIONS, first).path("kv_transfer_params");
      assertThat(reply.path("transfer_mode").asText()).isEqualTo("push");
      assertThat(reply.has("remote_block_ids")).isFalse();
      ok(push.decode, COMPLETIONS, decodeBody().set("kv_transfer_params", reply));
      push.settled(1);

      ObjectNode early = ((ObjectNode) reply).deepCopy().put("remote_request_id", "second");
      early.remove("remote_num_tokens");
      early.remove("transfer_mode");
      CompletableFuture<HttpResponse<String>> decode =
          KvPair.postAsync(
              push.decode,
              COMPLETIONS,
              decodeBody().set("kv_transfer_params", early),
              "X-Request-Id",
              "second");
      KvPair.await(push.prefill, s -> s.transfers().waiting() == 1);
      ok(push.prefill, COMPLETIONS, first, "X-Request-Id", "second");

      assertThat(decode.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
      push.settled(2);
    }
  }

  @Test
  void pushNeedsTheSameIdOnBothSides() throws IOException {
    try (KvPair push = new KvPair(KvConnector.NIXL_PUSH)) {
      ObjectNode first = prefillBody().set("kv_transfer_params", KvPair.asks());
      JsonNode reply =
          ok(push.prefill, COMPLETIONS, first, "X-Request-Id", "a").path("kv_transfer_params");
      ObjectNode fetch = decodeBody().set("kv_transfer_params", reply);
      refused(push.decode, "X-Request-Id", COMPLETIONS, fetch, "X-Request-Id", "b");
      ok(push.decode, COMPLETIONS, fetch, "X-Request-Id", "a");
      push.settled(1);
    }
  }

  /** The header is ignored there. */
  @Test
  void pushedResponsesHaveTheirIdInTheBody() throws IOException {
    try (KvPair push = new KvPair(KvConnector.NIXL_PUSH)) {
      ObjectNode first = SimJson.object().put("input", KvPair.WORDS).put("max_output_tokens", 1);
      first.put("stream", false).set("kv_transfer_params", KvPair.asks());
      String[] header = {"X-Request-Id", "a"};
      JsonNode apart = ok(push.prefill, RESPONSES, first, header).path("kv_transfer_params");
      ObjectNode fetch = SimJson.object().put("input", KvPair.WORDS).put("max_output_tokens", 5);
      fetch.set("kv_transfer_params", apart);
      refused(push.decode, "request_id", RESPONSES, fetch, header);

      JsonNode reserved = ok(push.prefill, RESPONSES, first.put("request_id", "resp_a"));
      fetch
          .put("request_id", "resp_a")
          .set("kv_transfer_params", reserved.path("kv_transfer_params"));
      assertThat(ok(push.decode, RESPONSES, fetch).path("id").asText()).isEqualTo("resp_a");
    }
  }

  @Test
  void nextTurnFetchesItsHistoryFromDecode() throws IOException {
    try (KvPair back =
        new KvPair(
            KvConnector.NIXL,
            options -> options.withBidirectional(true).withParamsInStreams(true))) {
      ObjectNode chat = SimJson.object().put("max_tokens", 20).put("stream", true);
      chat.putArray("messages").addObject().put("role", "user").put("content", KvPair.WORDS);
      ObjectNode first = chat.deepCopy().put("max_tokens", 1).put("stream", false);
      first.set("kv_transfer_params", KvPair.asks());
      JsonNode params = ok(back.prefill, CHAT, first).path("kv_transfer_params");
      String stream =
          KvPair.post(back.decode, CHAT, chat.deepCopy().set("kv_transfer_params", params)).body();
      StringBuilder said = new StringBuilder();
      JsonNode kept = SimJson.object();
      for (String event : SimWireClient.events(stream)) {
        if (!event.equals("[DONE]")) {
          JsonNode chunk = SimWireClient.json(event);
          said.append(chunk.path("choices").path(0).path("delta").path("content").asText(""));
          kept = chunk.has("kv_transfer_params") ? chunk.path("kv_transfer_params") : kept;
        }
      }
      assertThat(kept.path("do_remote_decode").booleanValue()).isTrue();
      assertThat(kept.path("do_remote_prefill").booleanValue()).isFalse();
      assertThat(back.decode.kvState().reserved().requests()).isEqualTo(1);

      ObjectNode next = first.deepCopy();
      next.withArray("messages").addObject().put("role", "assistant").put("content", said + "");
      next.withArray("messages").addObject().put("role", "user").put("content", "go on");
      ObjectNode wrong = next.deepCopy();
      wrong.set("kv_transfer_params", ((ObjectNode) kept).deepCopy().put("remote_num_tokens", 9));
      refused(back.prefill, "remote_num_tokens", CHAT, wrong);
      ok(back.prefill, CHAT, next.set("kv_transfer_params", kept));

      KvState decode = KvPair.await(back.decode, s -> s.reserved().released() == 1);
      assertThat(decode.reserved().requests()).isZero();
      assertThat(back.prefill.kvState().transfers().finished()).isEqualTo(1);
      assertThat(back.prefill.kvState().transfers().tokens()).isPositive();
    }
  }

  private JsonNode produce() throws IOException {
    ObjectNode body = prefillBody().set("kv_transfer_params", KvPair.asks());
    return ok(pair.prefill, COMPLETIONS, body, "X-Request-Id", "r1").path("kv_transfer_params");
  }
}
