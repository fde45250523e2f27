package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies are forwarded byte for byte in both directions, on typed and transparent routes. */
@SuppressWarnings("NullAway.Init") // set before all tests
final class ByteFidelityTest {
  private static final List<String> PATHS =
      List.of(
          "/v1/chat/completions",
          "/v1/completions",
          "/v1/responses",
          "/v1/embeddings",
          "/v1/rerank",
          "/v1/score",
          "/generate",
          "/inference/v1/generate",
          "/tokenize",
          "/detokenize",
          "/v1/messages",
          "/some/unknown/path?with=query&and=%2F");

  /** Members that parsing and printing would change. */
  private static final List<String> ODD_MEMBERS =
      List.of(
          "\"unknown_field\":{\"deep\":[{\"er\":null}]},\"another\":true",
          "\"seed\":123456789012345678901234567890,\"id\":-9223372036854775809",
          "\"temperature\":1E+2,\"top_p\":-0.0,\"x\":0.10000000000000000001,\"y\":1e400,\"z\":1.0",
          "\"s\":\"\\u00e9\\u0041\\ud83d\\ude00 \\/ \\b\\f\\u0000 \\ud800\"",
          "\"s\":\"grüße 漢字 \uD83D\uDE00 \u2028\"",
          "\"temperature\":1,\"temperature\":2,\"a\":{\"b\":1,\"b\":2}",
          " \t\"spaced\" :\r\n [ 1 , 2 ,\n3 ] ");

  private static RawEngine engine;
  private static Cluster cluster;
  private static volatile byte[] next = new byte[0];

  @BeforeAll
  static void start() throws Exception {
    engine = RawEngine.start("sim", (request, out) -> out.write(next));
    cluster = Cluster.of(0).worker(engine.url()).start();
  }

  @AfterAll
  static void stop() throws Exception {
    cluster.close();
    engine.close();
  }

  static List<String> paths() {
    return PATHS;
  }

  @ParameterizedTest
  @MethodSource("paths")
  void requestBodyReachesTheEngineByteForByte(String path) throws Exception {
    next = RawEngine.answer("application/json", bytes("{}"));
    try (RawClient client = RawClient.connect(cluster.port())) {
      for (byte[] body : oddBodies()) {
        HttpAnswer answer = client.send("POST", path, body, List.of()).read();

        assertThat(answer.status()).isEqualTo(200);
        assertThat(engine.last().line()).isEqualTo("POST " + path + " HTTP/1.1");
        assertThat(engine.last().body()).isEqualTo(body);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("paths")
  @Tag("full")
  void chunkedRequestBodyReachesTheEngineByteForByte(String path) throws Exception {
    next = RawEngine.answer("application/json", bytes("{}"));
    try (RawClient client = RawClient.connect(cluster.port())) {
      for (byte[] body : oddBodies()) {
        HttpAnswer answer = client.sendChunked("POST", path, body, 7).read();

        assertThat(answer.status()).isEqualTo(200);
        assertThat(engine.last().body()).isEqualTo(body);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/chat/completions", "/unknown"})
  @Tag("full")
  void compressedRequestBodyReachesTheEngineDecoded(String path) throws Exception {
    next = RawEngine.answer("application/json", bytes("{}"));
    byte[] plain = oddBodies().getFirst();
    try (RawClient client = RawClient.connect(cluster.port())) {
      HttpAnswer answer =
          client.send("POST", path, gzip(plain), List.of("content-encoding: gzip")).read();

      assertThat(answer.status()).isEqualTo(200);
      assertThat(engine.last().body()).isEqualTo(plain);
      assertThat(engine.last().header("content-encoding")).isNull();
    }
  }

  @Test
  @Tag("full")
  void bodyLargerThanTheBufferReachesTheEngineByteForByte() throws Exception {
    next = RawEngine.answer("application/json", bytes("{}"));
    byte[] body = longPrompt(20 << 20);
    try (RawClient client = RawClient.connect(cluster.port())) {
      HttpAnswer answer = client.send("POST", "/v1/completions", body, List.of()).read();

      assertThat(answer.status()).isEqualTo(200);
      assertThat(sha256(engine.last().body())).isEqualTo(sha256(body));
    }
  }

  @ParameterizedTest
  @MethodSource("paths")
  @Tag("full")
  void responseBodyReachesTheClientByteForByte(String path) throws Exception {
    try (RawClient client = RawClient.connect(cluster.port())) {
      for (byte[] body : oddBodies()) {
        next =
            RawEngine.answer(
                "application/json; charset=utf-8", body, "x-of-engine: a", "x-of-engine: b");
        HttpAnswer answer =
            client.send("POST", path, bytes("{\"model\":\"sim\"}"), List.of()).read();

        assertThat(answer.complete()).isTrue();
        assertThat(answer.body()).isEqualTo(body);
        assertThat(answer.header("content-type")).isEqualTo("application/json; charset=utf-8");
        assertThat(answer.head().headers())
            .filteredOn(header -> header.name().equalsIgnoreCase("x-of-engine"))
            .extracting(HttpAnswer.Header::value)
            .containsExactly("a", "b");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/chat/completions", "/unknown"})
  @Tag("full")
  void compressedResponseReachesTheClientByteForByte(String path) throws Exception {
    byte[] plain = longPrompt(300_000);
    byte[] body = gzip(plain);
    next = RawEngine.answer("application/json", body, "content-encoding: gzip");
    try (RawClient client = RawClient.connect(cluster.port())) {
      byte[] request = bytes("{\"model\":\"sim\"}");
      HttpAnswer answer =
          client.send("POST", path, request, List.of("accept-encoding: gzip")).read();

      assertThat(answer.header("content-encoding")).isEqualTo("gzip");
      assertThat(answer.body()).isEqualTo(body);
      assertThat(new GZIPInputStream(new ByteArrayInputStream(answer.body())).readAllBytes())
          .isEqualTo(plain);
      assertThat(engine.last().header("accept-encoding")).isEqualTo("gzip");
    }
  }

  @Test
  @Tag("full")
  void binaryResponseReachesTheClientByteForByte() throws Exception {
    byte[] body = new byte[1 << 20];
    new SplittableRandom(1).nextBytes(body);
    next = RawEngine.answer("audio/wav", body);

    HttpAnswer answer =
        RawClient.call(
            cluster.port(), "POST", "/v1/audio/speech", "{\"model\":\"sim\",\"input\":\"hi\"}");

    assertThat(answer.body()).isEqualTo(body);
  }

  private static List<byte[]> oddBodies() {
    List<byte[]> bodies = new ArrayList<>();
    for (String member : ODD_MEMBERS) {
      bodies.add(
          bytes(
              "{\"model\":\"sim\",\"prompt\":\"p\",\"input\":\"i\",\"text\":\"t\",\"tokens\":[1],\"token_ids\":[1],"
                  + "\"query\":\"q\",\"documents\":[\"d\"],\"text_1\":\"a\",\"text_2\":\"b\",\"max_tokens\":1,"
                  + "\"messages\":[{\"role\":\"user\",\"content\":\"c\"}],"
                  + member
                  + "}"));
    }
    return bodies;
  }

  private static byte[] longPrompt(int length) {
    StringBuilder text = new StringBuilder(length + 100).append("{\"model\":\"sim\",\"prompt\":\"");
    for (int i = 0; text.length() < length; i++) {
      text.append("word").append(i).append(" \\n ");
    }
    return bytes(text.append("\"}").toString());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] gzip(byte[] plain) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(plain);
    }
    return bytes.toByteArray();
  }

  private static String sha256(byte[] bytes) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
  }
}
