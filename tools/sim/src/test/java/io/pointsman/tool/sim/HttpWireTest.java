package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.sim.http.SimConnectionOptions;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HttpWireTest {
  private final SimEngine engine =
      SimEngine.start(
          SimConfig.instant().withConnections(new SimConnectionOptions(60, true, 1 << 20)));

  @AfterEach
  void close() {
    engine.close();
  }

  @Test
  void connectionServesOneRequestAfterTheOther() throws IOException {
    try (Socket client = connect()) {
      for (int i = 0; i < 3; i++) {
        write(client, "GET /version HTTP/1.1\nHost: e\n\n");
        assertThat(SimWireClient.readUntil(client.getInputStream(), "}"))
            .startsWith("HTTP/1.1 200");
      }
    }
  }

  @Test
  void pipelinedRequestsAreAnsweredInOrder() throws IOException {
    try (Socket client = connect()) {
      write(
          client,
          """
          GET /echo/1 HTTP/1.1
          Host: e

          GET /echo/2 HTTP/1.1
          Host: e

          GET /echo/3 HTTP/1.1
          Host: e
          Connection: close

          """);
      String text = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

      assertThat(text.indexOf("/echo/1")).isPositive().isLessThan(text.indexOf("/echo/2"));
      assertThat(text.indexOf("/echo/2")).isLessThan(text.indexOf("/echo/3"));
    }
  }

  @Test
  void idleConnectionIsClosed() throws IOException {
    SimConnectionOptions brief = new SimConnectionOptions(1, false, 1 << 20);
    try (SimEngine closing = SimEngine.start(SimConfig.instant().withConnections(brief));
        Socket client = connect(closing)) {
      long start = System.nanoTime();
      write(client, "GET /health HTTP/1.1\nHost: e\n\n");

      assertThat(client.getInputStream().readAllBytes()).isNotEmpty();
      assertThat(System.nanoTime() - start).isGreaterThan(900_000_000L);
    }
  }

  @Test
  void headRequestGetsTheLengthWithoutABody() throws IOException {
    try (Socket client = connect()) {
      write(client, "HEAD /v1/models HTTP/1.1\nHost: e\nConnection: close\n\n");
      String text = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

      assertThat(text).startsWith("HTTP/1.1 200").contains("content-length: ").endsWith("\r\n\r\n");
    }
  }

  @Test
  void expectContinueIsAnsweredBeforeTheBody() throws IOException {
    try (Socket client = connect()) {
      write(client, "POST /echo/x HTTP/1.1\nHost: e\nExpect: 100-continue\nContent-Length: 2\n\n");
      assertThat(SimWireClient.readUntil(client.getInputStream(), "\r\n\r\n"))
          .startsWith("HTTP/1.1 100");
      write(client, "hi");

      assertThat(SimWireClient.readUntil(client.getInputStream(), "body_length\":2")).isNotEmpty();
    }
  }

  @Test
  void chunkedBodyArrivesWhole() throws IOException {
    try (Socket client = connect()) {
      write(
          client,
          """
          POST /echo/x HTTP/1.1
          Host: e
          Transfer-Encoding: chunked

          3
          abc
          2
          de
          0

          """);

      assertThat(SimWireClient.readUntil(client.getInputStream(), "\"}"))
          .contains("\"body_length\":5");
      write(client, "GET /version HTTP/1.1\nHost: e\n\n");
      assertThat(SimWireClient.readUntil(client.getInputStream(), "version")).isNotEmpty();
    }
  }

  @Test
  void bodyAboveTheLimitIsTooLarge() throws IOException {
    var response = SimWireClient.post(engine.url() + "/echo/x", "x".repeat((1 << 20) + 1));

    assertThat(response.statusCode()).isEqualTo(413);
  }

  @Test
  void responseIsCompressedForClientsThatAcceptIt() throws IOException {
    try (Socket client = connect()) {
      write(client, "GET /version HTTP/1.1\nHost: e\nAccept-Encoding: gzip\nConnection: close\n\n");
      InputStream in = client.getInputStream();
      String head = SimWireClient.readUntil(in, "\r\n\r\n");
      byte[] body = new GZIPInputStream(new ByteArrayInputStream(in.readAllBytes())).readAllBytes();

      assertThat(head).contains("content-encoding: gzip");
      assertThat(new String(body, StandardCharsets.UTF_8)).contains("version");
    }
  }

  @Test
  void echoReturnsTheRequest() throws IOException {
    var response =
        SimWireClient.send("PATCH", engine.url() + "/echo/a%20b?x=1&x=2&y=%2F", "{\"a\": 1.0}");
    JsonNode echo = SimWireClient.json(response.body());

    assertThat(echo.path("method").asText()).isEqualTo("PATCH");
    assertThat(echo.path("path").asText()).isEqualTo("/echo/a%20b");
    assertThat(echo.path("query").asText()).isEqualTo("x=1&x=2&y=%2F");
    assertThat(echo.path("body_length").asInt()).isEqualTo(10);
    assertThat(echo.path("body_sha256").asText())
        .isEqualTo("742609b207f0900a8e2dff3ae83ac47941af5c29bb6ebfb297f4ca7dd63d8354");
  }

  @Test
  void refusedMethodGetsTheAllowedOnes() throws IOException {
    var response = SimWireClient.send("PUT", engine.url() + "/v1/models", "");

    assertThat(response.statusCode()).isEqualTo(405);
    assertThat(response.headers().firstValue("allow")).contains("GET");
  }

  private Socket connect() throws IOException {
    return connect(engine);
  }

  private static Socket connect(SimEngine engine) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), engine.port());
    socket.setSoTimeout(60_000);
    return socket;
  }

  /** Sends lines with HTTP line ends. */
  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.replace("\n", "\r\n").getBytes(StandardCharsets.US_ASCII));
    socket.getOutputStream().flush();
  }
}
