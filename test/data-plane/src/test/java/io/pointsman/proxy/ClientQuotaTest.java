package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.EventStream;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Limits of a client, as it sees them. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class ClientQuotaTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String HI = "{\"model\":\"m\",\"messages\":[]}";
  private static final String USED =
      "{\"id\":\"a\",\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":60}}";

  private static final EngineScript COUNTING =
      (request, connection) -> connection.reply(200, "application/json", USED);

  private final FakeClock clock = new FakeClock();

  private ProxyRig rig(ClientQuota quota) throws Exception {
    LimitSettings limits = LimitSettings.DEFAULTS;
    return new ProxyRig(
        Transport.AUTO,
        ProxySettings.DEFAULTS.withLimits(limits.withClients(limits.clients().withQuota(quota))),
        clock);
  }

  private static WireResponse ask(ProxyRig rig) throws Exception {
    WireResponse response = rig.ask(ProxyRig.post(CHAT, HI));
    ProxyRig.await("ended", () -> rig.server().running() == 0);
    return response;
  }

  @Test
  void requestsBeyondTheLimitGet429AndTheTimeToWait() throws Exception {
    try (ProxyRig rig = rig(new ClientQuota(0, 2, 0, 0, 0, 0));
        ScriptedEngine engine = ScriptedEngine.start(COUNTING)) {
      rig.worker(engine.url());
      WireResponse first = ask(rig);
      assertThat(first.status()).isEqualTo(200);
      assertThat(first.header("x-ratelimit-limit-requests")).isEqualTo("2");
      assertThat(first.header("x-ratelimit-remaining-requests")).isEqualTo("1");
      assertThat(first.header("x-ratelimit-reset-requests")).isEqualTo("30s");
      assertThat(first.header("x-ratelimit-limit-tokens")).isNull();
      assertThat(ask(rig).status()).isEqualTo(200);

      WireResponse refused = ask(rig);
      assertThat(refused.status()).isEqualTo(429);
      assertThat(refused.text())
          .contains("\"code\":\"rate_limit_exceeded\"", "\"type\":\"requests\"")
          .contains("requests per minute (limit 2)");
      assertThat(refused.header("retry-after")).isEqualTo("30");
      assertThat(refused.header("x-ratelimit-remaining-requests")).isEqualTo("0");
      assertThat(engine.requests()).hasSize(2);
      assertThat(rig.limited).containsExactly("127.0.0.1 REQUESTS_PER_MINUTE");

      clock.advance(Duration.ofSeconds(30));
      assertThat(ask(rig).status()).isEqualTo(200);
    }
  }

  @Test
  void theRefusalHasTheFormOfTheApi() throws Exception {
    try (ProxyRig rig = rig(new ClientQuota(0, 1, 0, 0, 0, 0));
        ScriptedEngine engine = ScriptedEngine.start(COUNTING)) {
      rig.worker(engine.url());
      assertThat(ask(rig).status()).isEqualTo(200);
      WireResponse refused = rig.ask(ProxyRig.post("/v1/messages", HI));
      assertThat(refused.status()).isEqualTo(429);
      assertThat(refused.text()).contains("\"type\":\"rate_limit_error\"");
      assertThat(refused.header("retry-after")).isEqualTo("60");
    }
  }

  @Test
  void tokensCountAsTheEngineReportsThem() throws Exception {
    try (ProxyRig rig = rig(new ClientQuota(0, 0, 0, 60, 0, 0));
        ScriptedEngine engine = ScriptedEngine.start(COUNTING)) {
      rig.worker(engine.url());
      WireResponse first = ask(rig);
      assertThat(first.header("x-ratelimit-limit-tokens")).isEqualTo("60");
      WireResponse refused = ask(rig);
      assertThat(refused.status()).isEqualTo(429);
      assertThat(refused.text()).contains("\"type\":\"tokens\"", "output tokens per minute");
      assertThat(refused.header("retry-after")).isEqualTo("1");
      clock.advance(Duration.ofSeconds(1));
      assertThat(ask(rig).status()).isEqualTo(200);
    }
  }

  @Test
  void aStreamWithoutCountsCountsItsChunks() throws Exception {
    try (ProxyRig rig = rig(new ClientQuota(0, 0, 0, 1, 0, 0));
        ScriptedEngine engine = ScriptedEngine.start(new EventStream(List.of("a", "b")))) {
      rig.worker(engine.url());
      assertThat(ask(rig).status()).isEqualTo(200);
      assertThat(ask(rig).status()).isEqualTo(429);
    }
  }

  private static final String RESPONSES = "/v1/responses";
  private static final String STORED = "GET " + RESPONSES + "/resp_%d HTTP/1.1\r\nhost: r\r\n\r\n";

  private static int status(ProxyRig rig, String request) throws Exception {
    int status = rig.ask(request).status();
    ProxyRig.await("ended", () -> rig.server().running() == 0);
    return status;
  }

  private static EngineScript responses(boolean background) {
    String counts = ",\"usage\":{\"input_tokens\":30,\"output_tokens\":60}}";
    return (request, connection) -> {
      boolean counted = !background || request.line().startsWith("GET ");
      String body = "{\"id\":\"resp_1\",\"status\":\"completed\"" + (counted ? counts : "}");
      connection.reply(200, "application/json", body);
    };
  }

  @Test
  void readingAStoredResponseAgainCostsNoTokens() throws Exception {
    try (ProxyRig rig = rig(new ClientQuota(0, 0, 0, 0, 0, 150));
        ScriptedEngine engine = ScriptedEngine.start(responses(false))) {
      rig.worker(engine.url());
      assertThat(status(rig, ProxyRig.post(RESPONSES, HI))).isEqualTo(200);
      for (int i = 0; i < 5; i++) {
        assertThat(status(rig, STORED.formatted(1))).isEqualTo(200);
      }
    }
  }

  /** The answer that confirms it has no counts. */
  @Test
  void aResponseInTheBackgroundIsChargedWhenItIsRead() throws Exception {
    try (ProxyRig rig = rig(new ClientQuota(0, 0, 0, 60, 0, 0));
        ScriptedEngine engine = ScriptedEngine.start(responses(true))) {
      rig.worker(engine.url());
      assertThat(status(rig, ProxyRig.post(RESPONSES, HI))).isEqualTo(200);
      assertThat(status(rig, ProxyRig.post(RESPONSES, HI))).isEqualTo(200);
      assertThat(status(rig, STORED.formatted(1))).isEqualTo(200);
      assertThat(status(rig, STORED.formatted(1))).isEqualTo(429);
      clock.advance(Duration.ofSeconds(1));
      assertThat(status(rig, STORED.formatted(1))).isEqualTo(200);
      assertThat(status(rig, STORED.formatted(1))).isEqualTo(200);
      assertThat(status(rig, STORED.formatted(2))).isEqualTo(200);
      assertThat(status(rig, STORED.formatted(2))).isEqualTo(429);
    }
  }

  private static final ClientQuota OUTPUT_OF_60 = new ClientQuota(0, 0, 0, 60, 0, 0);

  /** Many events arrive in one read. */
  @Test
  void aStreamWithoutCountsCountsItsEvents() throws Exception {
    EngineScript burst =
        (request, connection) ->
            connection.beginEvents().chunk("data: {\"x\":1}\n\n".repeat(60)).lastChunk();
    try (ProxyRig rig = rig(OUTPUT_OF_60);
        ScriptedEngine engine = ScriptedEngine.start(burst)) {
      rig.worker(engine.url());
      assertThat(ask(rig).status()).isEqualTo(200);
      assertThat(ask(rig).status()).isEqualTo(429);
    }
  }

  /** The text of an event may look like the start of one. */
  @Test
  void onlyTheStartsOfEventsCount() throws Exception {
    EngineScript one =
        (request, connection) ->
            connection.beginEvents().chunk("data: " + "data: d".repeat(60) + "\n\n").lastChunk();
    try (ProxyRig rig = rig(OUTPUT_OF_60);
        ScriptedEngine engine = ScriptedEngine.start(one)) {
      rig.worker(engine.url());
      assertThat(ask(rig).status()).isEqualTo(200);
      assertThat(ask(rig).status()).isEqualTo(200);
    }
  }

  @Test
  void theCountsOfAStreamThatTheClientLeavesHold() throws Exception {
    EngineScript counted =
        (request, connection) -> {
          connection.beginEvents().chunk("data: {\"x\":1}\n\ndata: " + USED + "\n\n");
          connection.awaitPeerGone();
        };
    try (ProxyRig rig = rig(OUTPUT_OF_60);
        ScriptedEngine engine = ScriptedEngine.start(counted)) {
      rig.worker(engine.url());
      leave(rig, client -> assertThat(client.chunk()).contains("usage"));
      assertThat(ask(rig).status()).isEqualTo(429);
    }
  }

  /** The counts are at the end of the answer, which the client does not await. */
  @Test
  void aLongAnswerThatTheClientLeavesIsEstimated() throws Exception {
    String part = "{\"choices\":[{\"text\":\"" + "x".repeat(300_000);
    EngineScript lengthy =
        (request, connection) -> {
          connection.send(
              "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n\r\n"
                  + part);
          connection.awaitPeerGone();
        };
    try (ProxyRig rig = rig(OUTPUT_OF_60);
        ScriptedEngine engine = ScriptedEngine.start(lengthy)) {
      rig.worker(engine.url());
      leave(rig, client -> assertThat(client.text(200_000)).startsWith("{\"choices\""));
      assertThat(ask(rig).status()).isEqualTo(429);
    }
  }

  @FunctionalInterface
  private interface Reading {
    void read(WireClient client) throws Exception;
  }

  /** Sends a request and leaves after a part of the answer. */
  private static void leave(ProxyRig rig, Reading part) throws Exception {
    try (WireClient client = rig.connect().send(ProxyRig.post(CHAT, HI))) {
      assertThat(client.head().status()).isEqualTo(200);
      part.read(client);
    }
    ProxyRig.await("ended", () -> rig.server().running() == 0);
  }

  /** Nobody reads the counts in a compressed answer. */
  @Test
  void engineAnswersAreNotEncodedWhileTheirTokensCount() throws Exception {
    for (ClientQuota quota : List.of(OUTPUT_OF_60, new ClientQuota(0, 9, 0, 0, 0, 0))) {
      try (ProxyRig rig = rig(quota);
          ScriptedEngine engine = ScriptedEngine.start(COUNTING)) {
        rig.worker(engine.url());
        rig.ask(ProxyRig.post(CHAT, "Accept-Encoding: gzip\r\n", HI));
        assertThat(engine.awaitRequest().header("accept-encoding"))
            .isEqualTo(quota.equals(OUTPUT_OF_60) ? null : "gzip");
      }
    }
  }

  private static final String DONE = "{\"type\":\"response.done\",\"response\":" + USED + "}";

  /** Sends a message with counts, then four bytes of the client back. */
  private static final EngineScript SOCKET =
      (request, connection) -> {
        connection.send(
            "HTTP/1.1 101 Switching Protocols\r\n"
                + "Upgrade: websocket\r\n"
                + "Connection: Upgrade\r\n\r\n");
        connection.send("\u0081" + (char) DONE.length() + DONE);
        connection.send(connection.receive(4));
        connection.close();
      };

  private static final String UPGRADE =
      "GET /v1/realtime HTTP/1.1\r\nhost: r\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
          + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";

  @Test
  void tokensOfAWebSocketCountWhileItIsOpen() throws Exception {
    try (ProxyRig rig = rig(OUTPUT_OF_60);
        ScriptedEngine engine = ScriptedEngine.start(SOCKET)) {
      rig.worker(engine.url());
      WireClient socket = rig.connect().send(UPGRADE);
      assertThat(socket.head().status()).isEqualTo(101);
      assertThat(socket.text(2 + DONE.length())).endsWith(DONE);
      assertThat(rig.ask(ProxyRig.post(CHAT, HI)).status()).isEqualTo(429);
      clock.advance(Duration.ofSeconds(1));
      assertThat(socket.send("ping").text(4)).isEqualTo("ping");
      assertThat(socket.atEnd()).isTrue();
      ProxyRig.await("ended", () -> rig.server().running() == 0);
      // The end does not charge them again.
      WireClient second = rig.connect().send(UPGRADE);
      assertThat(second.head().status()).isEqualTo(101);
      second.close();
    }
  }

  /** Nobody reads the counts in a compressed message. */
  @Test
  void messagesOfAWebSocketAreNotCompressedWhileTheirTokensCount() throws Exception {
    for (ClientQuota quota : List.of(OUTPUT_OF_60, new ClientQuota(0, 9, 0, 0, 0, 0))) {
      try (ProxyRig rig = rig(quota);
          ScriptedEngine engine = ScriptedEngine.start(SOCKET)) {
        rig.worker(engine.url());
        WireClient socket = rig.connect().send(UPGRADE);
        assertThat(engine.awaitRequest().header("sec-websocket-extensions"))
            .isEqualTo(quota.equals(OUTPUT_OF_60) ? null : "permessage-deflate");
        socket.close();
      }
    }
  }

  @Test
  void aRequestThatNoWorkerServesCostsNoTokens() throws Exception {
    try (ProxyRig rig = rig(new ClientQuota(0, 0, 10, 0, 0, 0))) {
      for (int i = 0; i < 3; i++) {
        assertThat(ask(rig).status()).isEqualTo(503);
      }
    }
  }

  @Test
  void requestsInProgressAreBounded() throws Exception {
    CountDownLatch goOn = new CountDownLatch(1);
    EngineScript waiting =
        (request, connection) -> {
          goOn.await();
          connection.reply(200, "application/json", USED);
        };
    try (ProxyRig rig = rig(new ClientQuota(1, 0, 0, 0, 0, 0));
        ScriptedEngine engine = ScriptedEngine.start(waiting)) {
      rig.worker(engine.url());
      WireClient first = rig.connect().send(ProxyRig.post(CHAT, HI));
      engine.awaitRequest();
      WireResponse refused = rig.ask(ProxyRig.post(CHAT, HI));
      assertThat(refused.status()).isEqualTo(429);
      assertThat(refused.text()).contains("requests in progress (limit 1)");
      assertThat(refused.header("retry-after")).isEqualTo("1");
      goOn.countDown();
      assertThat(first.read().status()).isEqualTo(200);
      ProxyRig.await("ended", () -> rig.server().running() == 0);
      assertThat(ask(rig).status()).isEqualTo(200);
    }
  }

  @Test
  void aClientThatLeavesGivesItsPlaceBack() throws Exception {
    CountDownLatch goOn = new CountDownLatch(1);
    EngineScript waiting =
        (request, connection) -> {
          goOn.await();
          connection.reply(200, "application/json", USED);
        };
    try (ProxyRig rig = rig(new ClientQuota(1, 0, 0, 0, 0, 0));
        ScriptedEngine engine = ScriptedEngine.start(waiting)) {
      rig.worker(engine.url());
      WireClient first = rig.connect().send(ProxyRig.post(CHAT, HI));
      engine.awaitRequest();
      first.close();
      ProxyRig.await("ended", () -> rig.server().running() == 0);
      goOn.countDown();
      assertThat(ask(rig).status()).isEqualTo(200);
    }
  }

  @Test
  void theLimitsOfAProviderBehindAreNotShown() throws Exception {
    EngineScript provider =
        (request, connection) ->
            connection.send(
                "HTTP/1.1 200 OK\r\nx-ratelimit-limit-requests: 9000\r\ncontent-length: 2\r\n\r\n"
                    + "{}");
    try (ProxyRig rig = rig(new ClientQuota(0, 5, 0, 0, 0, 0));
        ProxyRig open = rig(ClientQuota.NONE);
        ScriptedEngine engine = ScriptedEngine.start(provider)) {
      rig.worker(engine.url());
      open.worker(engine.url());
      assertThat(ask(rig).values("x-ratelimit-limit-requests")).containsExactly("5");
      assertThat(ask(open).values("x-ratelimit-limit-requests")).containsExactly("9000");
    }
  }
}
