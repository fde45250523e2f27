package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** Requests that two servers could read differently are refused before any byte is forwarded. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class HostileClientTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";

  @Parameter Transport transport = Transport.AUTO;

  private void refused(int status, String request) throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(request);

      WireResponse response = client.read();

      assertThat(response.status()).as(request).isEqualTo(status);
      assertThat(response.header("connection")).isEqualTo("close");
      assertThat(response.text()).startsWith("{\"error\":{\"message\":");
      assertThat(client.atEnd()).isTrue();
      assertThat(engine.requests()).isEmpty();
      assertThat(rig.outcomes).isEmpty();
    }
  }

  private static String with(String headers) {
    return "POST /x HTTP/1.1\r\nhost: r\r\n"
        + headers
        + "\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n";
  }

  @Test
  void lengthTogetherWithChunksIsRefused() throws Exception {
    refused(400, with("content-length: 5\r\ntransfer-encoding: chunked\r\n"));
    refused(400, with("transfer-encoding: chunked\r\ncontent-length: 5\r\n"));
  }

  @Test
  void severalKeysOrOriginsAreRefused() throws Exception {
    for (String name : List.of("authorization", "x-api-key", "origin")) {
      String one = name + ": Bearer mine\r\n";
      String other = name.toUpperCase(Locale.ROOT) + ": Bearer other\r\n";
      refused(400, with(one + "content-length: 0\r\n" + other));
      refused(400, with(one + one + "content-length: 0\r\n"));
    }
  }

  @Test
  void severalLengthsAreRefused() throws Exception {
    refused(400, with("content-length: 5\r\ncontent-length: 6\r\n"));
    refused(400, with("content-length: 5\r\ncontent-length: 5\r\n"));
    refused(400, with("content-length: 5, 5\r\n"));
  }

  @Test
  void lengthThatIsNoNumberIsRefused() throws Exception {
    refused(400, with("content-length: +5\r\n"));
    refused(400, with("content-length: -5\r\n"));
    refused(400, with("content-length: 0x5\r\n"));
    refused(400, with("content-length: 99999999999999999999\r\n"));
  }

  @Test
  void otherTransferCodingsAreRefused() throws Exception {
    refused(400, with("transfer-encoding: gzip, chunked\r\n"));
    refused(400, with("transfer-encoding: chunked, chunked\r\n"));
    refused(400, with("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n"));
    refused(400, with("transfer-encoding: xchunked\r\n"));
    refused(400, with("transfer-encoding : chunked\r\n"));
  }

  @Test
  void chunksFromAnHttp10ClientAreRefused() throws Exception {
    refused(400, "POST /x HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n");
  }

  @Test
  void missingOrRepeatedHostIsRefused() throws Exception {
    refused(400, "GET /x HTTP/1.1\r\n\r\n");
    refused(400, "GET /x HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n");
  }

  @Test
  void foldedLinesAndBareLineFeedsAreRefused() throws Exception {
    refused(400, "GET /x HTTP/1.1\r\nhost: r\nx: y\r\n\r\n");
    refused(400, "GET /x HTTP/1.1\r\nhost: r\r\nx: y\u0000z\r\n\r\n");
  }

  @Test
  void otherVersionsAreRefused() throws Exception {
    refused(505, "GET /x HTTP/1.2\r\nhost: r\r\n\r\n");
  }

  @Test
  void brokenChunkIs400() throws Exception {
    refused(
        400,
        "POST /x HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n");
  }

  @Test
  void bodyThatIsNotJsonIs400OnATypedRoute() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      for (String body : List.of("", "[1]", "{\"model\":", "hello")) {
        WireResponse response = client.send(ProxyRig.post(CHAT, body)).read();
        assertThat(response.status()).as(body).isEqualTo(400);
        assertThat(response.text()).contains("invalid_request_error");
      }
      assertThat(rig.outcomes).isEmpty();
      assertThat(client.send(ProxyRig.post("/any", "hello")).read().status()).isEqualTo(200);
    }
  }

  @Test
  void pipelinedRequestsAreAnsweredOneAfterAnother() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) ->
                    connection.reply(200, "text/plain", request.line() + request.bodyText()))) {
      rig.worker(engine.url());
      StringBuilder all = new StringBuilder();
      for (int i = 0; i < 30; i++) {
        all.append(ProxyRig.post(CHAT + "?n=" + i, BODY));
      }
      WireClient client = rig.connect().send(all.toString());

      for (int i = 0; i < 30; i++) {
        assertThat(client.read().text()).isEqualTo("POST " + CHAT + "?n=" + i + " HTTP/1.1" + BODY);
      }
      assertThat(engine.connections()).isEqualTo(1);
      assertThat(engine.requests().stream().map(EngineRequest::connection)).containsOnly(1);
    }
  }

  @Test
  void floodSentAheadIsServedInOrder() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      // The first answer makes the connection expect large reads.
      client.send(ProxyRig.post("/large", "x".repeat(4_000_000))).read();
      client.send("GET / HTTP/1.1\r\nhost: r\r\n\r\n".repeat(2000));

      for (int i = 0; i < 2000; i++) {
        assertThat(client.read().status()).isEqualTo(200);
      }
    }
  }

  @Test
  void requestsAreReadAtEverySplit() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      for (byte b :
          ProxyRig.post(CHAT, BODY).getBytes(java.nio.charset.StandardCharsets.US_ASCII)) {
        client.send(new byte[] {b});
      }

      assertThat(client.read().status()).isEqualTo(200);
      assertThat(engine.awaitRequest().bodyText()).isEqualTo(BODY);
    }
  }
}
