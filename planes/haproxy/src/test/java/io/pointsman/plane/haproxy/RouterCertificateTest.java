package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.proxy.tls.ClientTls;
import io.pointsman.testkit.TestCertificate;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The certificate of the router is checked before it gets the key. */
@Timeout(60)
class RouterCertificateTest {
  @TempDir Path directory;

  private TestCertificate certificate(String name, String names) throws Exception {
    return TestCertificate.make(directory, name, names);
  }

  /** The bytes that one caller sends after its handshake, up to the end of a head. */
  private static FutureTask<String> received(ServerSocket server) {
    FutureTask<String> received =
        new FutureTask<>(
            () -> {
              StringBuilder head = new StringBuilder();
              try (Socket caller = server.accept()) {
                while (head.indexOf("\r\n\r\n") < 0) {
                  int read = caller.getInputStream().read();
                  if (read < 0) {
                    break;
                  }
                  head.append((char) read);
                }
                caller
                    .getOutputStream()
                    .write("HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n".getBytes(US_ASCII));
              } catch (IOException _) {
                // The caller has ended the handshake.
              }
              return head.toString();
            });
    Thread.ofVirtual().start(received);
    return received;
  }

  private static ServerSocket server(TestCertificate own) throws Exception {
    ServerSocket server = own.serverSocket(null);
    server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    return server;
  }

  private static void ask(ServerSocket server, TestCertificate trusted) throws IOException {
    URI router = URI.create("https://127.0.0.1:" + server.getLocalPort());
    HaproxyPlane.spoeOf(router, "secret", new ClientTls(trusted.certificate().toString(), "", ""));
  }

  @Test
  void aRouterWithTheRightCertificateGetsTheKey() throws Exception {
    TestCertificate right = certificate("right", "ip:127.0.0.1");
    try (ServerSocket server = server(right)) {
      FutureTask<String> received = received(server);
      assertThatThrownBy(() -> ask(server, right)).hasMessageContaining("has no SPOE address");
      assertThat(received.get()).contains("uthorization: Bearer secret");
    }
  }

  @Test
  void aRouterWithACertificateOfAnotherAuthorityGetsNothing() throws Exception {
    TestCertificate right = certificate("right", "ip:127.0.0.1");
    TestCertificate foreign = certificate("foreign", "ip:127.0.0.1");
    assertGetsNothing(foreign, right);
  }

  @Test
  void aRouterWithACertificateForAnotherNameGetsNothing() throws Exception {
    TestCertificate elsewhere = certificate("elsewhere", "dns:elsewhere.example");
    assertGetsNothing(elsewhere, elsewhere);
  }

  private static void assertGetsNothing(TestCertificate own, TestCertificate trusted)
      throws Exception {
    try (ServerSocket server = server(own)) {
      FutureTask<String> received = received(server);
      assertThatThrownBy(() -> ask(server, trusted))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("SSLHandshakeException");
      assertThat(received.get()).isEmpty();
    }
  }
}
