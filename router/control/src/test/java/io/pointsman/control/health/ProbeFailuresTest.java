package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The reasons of probes of ports that are no HTTP/1.1 server. */
@Timeout(60)
class ProbeFailuresTest {
  private static final Duration GENEROUS = Duration.ofSeconds(60);
  private static final ProbeSettings SETTINGS =
      new ProbeSettings(
          "/health",
          List.of(),
          Duration.ofHours(1),
          GENEROUS,
          Duration.ofMillis(10),
          Duration.ofMillis(50),
          8,
          Duration.ZERO);

  /** The reason of a probe of a server that sends these bytes and closes. */
  private static String reason(String scheme, String sent) throws IOException {
    try (ServerSocket server = new ServerSocket(0, 4, InetAddress.getLoopbackAddress())) {
      Thread.startVirtualThread(() -> serve(server, sent));
      return reason(scheme, server);
    }
  }

  private static String reason(String scheme, ServerSocket server) {
    WorkerSpec worker = WorkerSpec.of(scheme + "://127.0.0.1:" + server.getLocalPort());
    EngineClient client = new EngineClient(EngineKeys.NONE, new SystemTicker());
    IOException failure =
        assertThrows(
            IOException.class,
            () -> client.send(worker, "GET", worker.url() + "/health", GENEROUS));
    return ProbeFailures.reason(failure, worker, SETTINGS);
  }

  private static void serve(ServerSocket server, String sent) {
    try (Socket client = server.accept()) {
      int _ = client.getInputStream().read(new byte[4096]); // otherwise the close is a reset
      client.getOutputStream().write(sent.getBytes(ISO_8859_1));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static Stream<Arguments> servers() {
    String stream0 = "\0\0\0\0\0";
    return Stream.of(
        arguments("http", "", "server; https:// in the URL if the engine uses TLS)"),
        arguments("http", "\25\3\3\0\2\2F", "speaks TLS (expected: https:// in the URL, or"),
        arguments("http", "\0\0\6\4" + stream0, "speaks only HTTP/2 (expected: a server that"),
        arguments("http", "\0\0\10\7" + stream0, "speaks only HTTP/2 (expected: a server that"),
        arguments("http", "SSH-2.0-x\r\n", "does not speak HTTP: it sent \"SSH-2.0-x\" (exp"),
        arguments("http", "-ERR wrong", "does not speak HTTP: it sent \"-ERR wrong\" (expected"),
        arguments("http", "HTT", "ended within the response head (expected: an HTTP/1.1"),
        arguments("http", "HTTP/1.1 2", "ended within the response head (expected: an HTTP/1.1"),
        arguments(
            "https", "", "failed: SSL peer shut down incorrectly (expected: a TLS server; see"),
        arguments("https", "SSH-2.0-x\r\n", "does not speak TLS (expected: an https server, or"));
  }

  @ParameterizedTest
  @MethodSource("servers")
  void theReasonNamesTheProtocolAndItsNeeds(String scheme, String sent, String part)
      throws IOException {
    assertThat(reason(scheme, sent)).contains("127.0.0.1:").contains(part);
  }

  @Test
  void aTlsServerIsNamedAsTheLikelyCause() throws IOException, NoSuchAlgorithmException {
    try (ServerSocket server =
        SSLContext.getDefault()
            .getServerSocketFactory()
            .createServerSocket(0, 4, InetAddress.getLoopbackAddress())) {
      Thread.startVirtualThread(() -> handshake(server));
      assertThat(reason("http", server)).contains("https:// in the URL");
    }
  }

  private static void handshake(ServerSocket server) {
    try (Socket client = server.accept()) {
      int _ = client.getInputStream().read();
    } catch (IOException _) {
      // The client does not begin a handshake.
    }
  }

  @Test
  void aBadRequestMayBeTheAnswerOfATlsServer() {
    assertThat(ProbeFailures.status(400, "http://a:1", SETTINGS))
        .isEqualTo(
            "status 400 of GET /health (expected: 2xx; https:// in the URL if the engine uses"
                + " TLS)");
    assertThat(ProbeFailures.status(400, "https://a:1", SETTINGS)).endsWith("(expected: 2xx)");
  }
}
