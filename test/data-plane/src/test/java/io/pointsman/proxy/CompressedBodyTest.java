package io.pointsman.proxy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.settings.BodyDecoding;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Base64;
import java.util.Set;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests with a {@code Content-Encoding}: decoded, forwarded, refused. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class CompressedBodyTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String TEXT =
      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hello hello hello"
          + " hello\"}]}";
  private static final String GZIP = "content-encoding: gzip\r\n";

  private static ProxySettings settings(BodyDecoding decoding) {
    return ProxySettings.DEFAULTS.withLimits(
        new LimitSettings(1 << 20, 8192, 1024, 100_000, 1 << 20, decoding));
  }

  static byte[] gzip(String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(UTF_8));
    }
    return bytes.toByteArray();
  }

  private static byte[] post(String path, String more, byte[] body) {
    String head =
        "POST " + path + " HTTP/1.1\r\nhost: r\r\ncontent-type: application/json\r\n" + more;
    return join(head + "content-length: " + body.length + "\r\n\r\n", body);
  }

  private static byte[] join(String head, byte[] body) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(head.getBytes(US_ASCII));
    bytes.writeBytes(body);
    return bytes.toByteArray();
  }

  private static WireResponse ask(ProxyRig rig, byte[] request) throws IOException {
    try (WireClient client = new WireClient(rig.server().port())) {
      return client.send(request).read();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "zstd,"
        + " KLUv/QRYLQIA1AN7Im1vZGVsIjoibSIsIm1lc3NhZ2VzIjpbeyJyb2xlIjoidXNlciIsImNvbnRlbnQiOiJoZWxsbyAifV19AQCZuUABsP4hbQ==",
    "br, G00AcJwHdgyZBlpYwOneapE9tq3VJtc6LF19U6TsDRxyInBsSQLNYww24DDyxmXhSWqQ4WX5Q2UR4cFNfAc=",
  })
  void engineGetsTheDecodedBodyOfEveryCoding(String coding, String base64) throws Exception {
    String more = "Content-Encoding: " + coding + "\r\n";
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      byte[] body = Base64.getDecoder().decode(base64);

      assertThat(ask(rig, post(CHAT, more, body)).status()).isEqualTo(200);
      EngineRequest request = engine.awaitRequest();
      assertThat(request.bodyText()).isEqualTo(TEXT);
      assertThat(request.values("content-encoding")).isEmpty();
      assertThat(request.values("content-length")).containsExactly("" + TEXT.length());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {CHAT, "/v1/responses", "/v1/messages", "/own"})
  void modelOfACompressedBodyChoosesTheWorker(String path) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine other = ScriptedEngine.start(Answer.ok());
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(WorkerSpec.of(other.url()).withModels(Set.of("other")));
      rig.worker(engine.url());

      assertThat(ask(rig, post(path, GZIP, gzip(TEXT))).status()).isEqualTo(200);
      assertThat(engine.awaitRequest().bodyText()).isEqualTo(TEXT);
      assertThat(other.requests()).isEmpty();
    }
  }

  @Test
  void chunkedBodyBecomesOneWithALength() throws Exception {
    byte[] packed = gzip(TEXT);
    byte[] chunk = join(Integer.toHexString(packed.length) + "\r\n", packed);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      client.send(
          "POST "
              + CHAT
              + " HTTP/1.1\r\nhost: r\r\n"
              + GZIP
              + "transfer-encoding: chunked\r\n\r\n");
      client.send(chunk).send("\r\n0\r\n\r\n");

      assertThat(client.read().status()).isEqualTo(200);
      EngineRequest request = engine.awaitRequest();
      assertThat(request.bodyText()).isEqualTo(TEXT);
      assertThat(request.values("content-length")).containsExactly("" + TEXT.length());
      assertThat(client.send(post(CHAT, "", TEXT.getBytes(UTF_8))).read().status()).isEqualTo(200);
    }
  }

  @Test
  void retriesSendTheDecodedBodyAgain() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine bad = ScriptedEngine.start(new Answer(500, "{}"));
        ScriptedEngine good = ScriptedEngine.start(Answer.ok())) {
      rig.worker(bad.url());
      rig.worker(good.url());

      assertThat(ask(rig, post(CHAT, GZIP, gzip(TEXT))).status()).isEqualTo(200);
      assertThat(bad.awaitRequest().bodyText()).isEqualTo(TEXT);
      assertThat(good.awaitRequest().bodyText()).isEqualTo(TEXT);
    }
  }

  @Test
  void largeBodiesAreSentCompletely() throws Exception {
    String text = "{\"model\":\"m\",\"prompt\":\"" + "word ".repeat(19_000) + "\"}";
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());

      assertThat(ask(rig, post("/v1/completions", GZIP, gzip(text))).status()).isEqualTo(200);
      assertThat(engine.awaitRequest().bodyText()).isEqualTo(text);
    }
  }

  @Test
  void forwardedBodyIsReadForRouting() throws Exception {
    byte[] packed = gzip(TEXT);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.FORWARD));
        ScriptedEngine other = ScriptedEngine.start(Answer.ok());
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(WorkerSpec.of(other.url()).withModels(Set.of("other")));
      rig.worker(engine.url());

      assertThat(ask(rig, post(CHAT, GZIP, packed)).status()).isEqualTo(200);
      EngineRequest request = engine.awaitRequest();
      assertThat(request.body()).isEqualTo(packed);
      assertThat(request.header("content-encoding")).isEqualTo("gzip");
      assertThat(request.values("content-length")).containsExactly("" + packed.length);
    }
  }

  @Test
  void listenersGetTheDecodedPrompt() throws Exception {
    String text = TEXT.replace("\"m\"", "\"reported\"");
    for (BodyDecoding decoding : Set.of(BodyDecoding.AUTO, BodyDecoding.FORWARD)) {
      try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(decoding));
          ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
        rig.worker(WorkerSpec.of(engine.url()).withModels(Set.of("reported")));

        assertThat(ask(rig, post(CHAT, GZIP, gzip(text))).status()).isEqualTo(200);
        assertThat(rig.prompts).extracting(ProxyRig.Prompt::body).containsExactly(text);
      }
    }
  }

  @Test
  void switchedOffTheBodyPassesUnread() throws Exception {
    byte[] body = {0x1f, (byte) 0x8b, 8, 0, (byte) 0xff};
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.OFF));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());

      assertThat(ask(rig, post(CHAT, GZIP, body)).status()).isEqualTo(200);
      EngineRequest request = engine.awaitRequest();
      assertThat(request.body()).isEqualTo(body);
      assertThat(request.header("content-encoding")).isEqualTo("gzip");
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AUTO", "FORWARD"})
  void bombsAreRefused(BodyDecoding decoding) throws Exception {
    byte[] bomb = gzip(" ".repeat(1 << 22));
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(decoding));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      WireResponse refused = client.send(post(CHAT, GZIP, bomb)).read();

      assertThat(bomb.length).isLessThan(10_000);
      assertThat(refused.status()).isEqualTo(413);
      assertThat(refused.text()).contains("body_too_large", "at most 100000 bytes");
      assertThat(client.send(post(CHAT, GZIP, gzip(TEXT))).read().status()).isEqualTo(200);
      assertThat(engine.requests()).hasSize(1);
    }
  }

  @Test
  void compressedBodyAboveTheBufferIsRefused() throws Exception {
    byte[] body = new byte[100_001];
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());

      assertThat(ask(rig, post(CHAT, GZIP, body)).status()).isEqualTo(413);
      assertThat(engine.requests()).isEmpty();
    }
  }

  @Test
  void decodedBodiesCountInTheMemoryOfAllBodies() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withLimits(
            new LimitSettings(1 << 22, 8192, 1024, 1 << 20, 1 << 19, BodyDecoding.AUTO));
    String text = "{\"model\":\"m\",\"prompt\":\"" + "word ".repeat(209_000) + "\"}";
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireResponse refused = ask(rig, post(CHAT, GZIP, gzip(text)));

      assertThat(refused.status()).isEqualTo(503);
      assertThat(refused.text()).contains("buffers_full");
      assertThat(rig.server().bodies().taken()).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "deflate", "zstd", "br"})
  void malformedBodiesAreRefused(String coding) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      String more = "content-encoding: " + coding + "\r\n";
      WireResponse refused = ask(rig, post(CHAT, more, TEXT.getBytes(UTF_8)));

      assertThat(refused.status()).isEqualTo(400);
      assertThat(refused.text()).contains("invalid_body", "complete " + coding);
      assertThat(engine.requests()).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"compress", "gzip, br", "lzma"})
  void unknownCodingsAreRefusedWithTheKnownOnes(String coding) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      String more = "content-encoding: " + coding + "\r\n";
      WireResponse refused = ask(rig, post(CHAT, more, gzip(TEXT)));

      assertThat(refused.status()).isEqualTo(415);
      assertThat(refused.header("accept-encoding")).isEqualTo("gzip, deflate, zstd, br");
      assertThat(refused.text()).contains("encoded_body", "gzip, deflate, zstd, br");
      assertThat(engine.requests()).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"compress", "gzip"})
  void unreadableBodiesOnUnknownPathsPassUnchanged(String coding) throws Exception {
    byte[] body = "anything".getBytes(UTF_8);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      String more = "content-encoding: " + coding + "\r\n";

      assertThat(ask(rig, post("/own", more, body)).status()).isEqualTo(200);
      EngineRequest request = engine.awaitRequest();
      assertThat(request.body()).isEqualTo(body);
      assertThat(request.header("content-encoding")).isEqualTo(coding);
    }
  }

  @Test
  void largeBodiesOnUnknownPathsAreStreamedUnchanged() throws Exception {
    byte[] body = new byte[300_000];
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings(BodyDecoding.AUTO));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());

      assertThat(ask(rig, post("/own", GZIP, body)).status()).isEqualTo(200);
      assertThat(engine.awaitRequest().body()).isEqualTo(body);
    }
  }
}
