package io.pointsman.proxy.upstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.TestCertificate;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Settings of TLS to workers, and their handshakes. */
@Timeout(60)
class EngineTlsTest {
  @TempDir private static Path directory = Path.of(".");

  private static String shake(EngineTls tls, ServerSocket server, String host) throws IOException {
    try (Socket plain = new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort());
        SSLSocket socket = tls.socket(plain, host, server.getLocalPort())) {
      socket.startHandshake();
      return socket.getSession().getProtocol();
    }
  }

  /** Completes the handshakes of all clients. */
  private static void accept(ServerSocket server) {
    while (!server.isClosed()) {
      try (Socket client = server.accept()) {
        int _ = client.getInputStream().read();
      } catch (IOException _) {
        // The client refused the certificate, or the test has ended.
      }
    }
  }

  @Test
  void theSystemsFileIsTrustedUnlessAnotherIsConfigured() throws Exception {
    TestCertificate own = TestCertificate.make(directory, "own", "dns:localhost");
    TestCertificate other = TestCertificate.make(directory, "other", "dns:localhost");
    String file = own.certificate().toString();
    EngineTlsSettings configured =
        new EngineTlsSettings(other.certificate().toString(), "", "", "", false);
    try (ServerSocket server = own.serverSocket(null)) {
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> accept(server));

      assertThat(shake(new EngineTls(EngineTlsSettings.DEFAULTS, file), server, "localhost"))
          .startsWith("TLS");
      for (EngineTls tls :
          List.of(
              EngineTls.ofSystem(),
              new EngineTls(EngineTlsSettings.DEFAULTS, directory.resolve("none").toString()),
              new EngineTls(configured, file))) {
        assertThatThrownBy(() -> shake(tls, server, "localhost")).isInstanceOf(SSLException.class);
      }
      EngineTls named = new EngineTls(EngineTlsSettings.DEFAULTS, file);
      assertThatThrownBy(() -> shake(named, server, "127.0.0.1")).isInstanceOf(SSLException.class);
      named.follow(
          List.of(
              WorkerSpec.of("https://127.0.0.1:" + server.getLocalPort())
                  .withLabels(Map.of("tls-server-name", "localhost"))));
      assertThat(shake(named, server, "127.0.0.1")).startsWith("TLS");
    }
  }

  @Test
  void labelsReplaceSingleValues() {
    EngineTlsSettings all = new EngineTlsSettings("ca", "cert", "key", "name", false);
    assertThat(all.with(Map.of("zone", "z"))).isSameAs(all);
    assertThat(all.with(Map.of("tls-ca-file", "x")))
        .isEqualTo(new EngineTlsSettings("x", "cert", "key", "name", false));
    assertThat(all.with(Map.of("tls-certificate-file", "x", "tls-insecure-skip-verify", "true")))
        .isEqualTo(new EngineTlsSettings("ca", "x", "", "name", true));
    assertThatThrownBy(() -> all.with(Map.of("tls-insecure-skip-verify", "yes")))
        .hasMessage("tls-insecure-skip-verify: yes (expected: true or false)");
    assertThatThrownBy(() -> all.with(Map.of("tls-server-name", "a:1")))
        .hasMessageContaining("serverName: a:1");
  }

  @Test
  void aKeyWithoutACertificateIsRefused() {
    assertThatThrownBy(() -> new EngineTlsSettings("", "", "key", "", false))
        .hasMessageContaining("keyFile: set without certificateFile");
  }
}
