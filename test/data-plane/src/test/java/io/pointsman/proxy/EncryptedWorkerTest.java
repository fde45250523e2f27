package io.pointsman.proxy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.tls.TlsProvider;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.Faults.EventStream;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Workers behind {@code https}: their certificate must be trusted and have their name. */
@SuppressWarnings("try") // tests may be interrupted
@EveryTls
@Timeout(60)
class EncryptedWorkerTest {
  private static final String PASSWORD = "changeit";
  private static final String TRUST_STORE = "javax.net.ssl.trustStore";

  @TempDir private static Path directory = Path.of(".");

  private static @Nullable TestCertificate own;

  @Parameter(0)
  Transport transport = Transport.AUTO;

  @Parameter(1)
  TlsProvider provider = TlsProvider.AUTO;

  @BeforeAll
  static void trustOneCertificate() throws Exception {
    own = TestCertificate.make(directory, "worker", "dns:localhost");
    Path store = directory.resolve("trusted");
    try (OutputStream out = Files.newOutputStream(store)) {
      own.store().store(out, PASSWORD.toCharArray());
    }
    System.setProperty(TRUST_STORE, store.toString());
    System.setProperty(TRUST_STORE + "Password", PASSWORD);
  }

  @AfterAll
  static void trustAsBefore() {
    System.clearProperty(TRUST_STORE);
    System.clearProperty(TRUST_STORE + "Password");
  }

  private ProxySettings settings(int loops) {
    return ProxySettings.DEFAULTS.withListen(
        ListenSettings.DEFAULTS.withEventLoops(loops).withTlsProvider(provider));
  }

  private static SSLContext context() throws Exception {
    KeyManagerFactory managers =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    managers.init(requireNonNull(own).store(), PASSWORD.toCharArray());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(managers.getKeyManagers(), null, null);
    return context;
  }

  private static ScriptedEngine engine() throws Exception {
    return ScriptedEngine.start(
        new EventStream(List.of("a")), context().getServerSocketFactory().createServerSocket());
  }

  private static WireResponse ask(ProxyRig rig) throws IOException {
    return rig.ask(ProxyRig.post("/v1/chat/completions", "{\"model\":\"m\"}"));
  }

  @Test
  void trustedWorkerServesAndItsConnectionIsUsedAgain() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(1));
        ScriptedEngine engine = engine()) {
      rig.worker("https://localhost:" + engine.port());

      assertThat(ask(rig).text()).isEqualTo("data: a\n\ndata: [DONE]\n\n");
      assertThat(ask(rig).complete()).isTrue();
      assertThat(engine.connections()).isEqualTo(1);
    }
  }

  /** TLS alone can show that no attacker ended the connection. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void answerThatEndsWithItsConnectionIsCompleteOnlyAfterATlsClose(boolean said) throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(0));
        ServerSocket engine = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      rig.worker("https://localhost:" + engine.getLocalPort());
      WireClient client =
          rig.connect().send(ProxyRig.post("/v1/chat/completions", "{\"model\":\"m\"}"));
      try (Socket raw = engine.accept()) {
        SSLSocketFactory sockets = context().getSocketFactory();
        SSLSocket connection = (SSLSocket) sockets.createSocket(raw, null, false);
        connection.getInputStream().readNBytes(100);
        connection.getOutputStream().write("HTTP/1.1 200 OK\r\n\r\nsome".getBytes(US_ASCII));
        if (said) {
          connection.close();
        }
        raw.shutdownOutput();
        WireResponse response = client.read();

        assertThat(response.text()).isEqualTo("some");
        assertThat(response.complete()).isEqualTo(said);
      }
    }
  }

  @Test
  void workerWithACertificateForAnotherNameIsRefused() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(0));
        ScriptedEngine engine = engine()) {
      rig.worker("https://127.0.0.1:" + engine.port());

      assertThat(ask(rig).status()).isEqualTo(502);
      assertThat(engine.requests()).isEmpty();
    }
  }
}
