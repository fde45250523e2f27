package io.pointsman.proxy;

import static io.pointsman.proxy.TlsClients.name;
import static io.pointsman.proxy.TlsClients.trusting;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.proxy.identity.KeyRing;
import io.pointsman.proxy.local.AdminGuard;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.ClosedPaths;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import io.pointsman.proxy.tls.TlsProvider;
import io.pointsman.testkit.TestCertificate;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;

/** TLS on the admin listener. */
@SuppressWarnings("try") // tests may be interrupted
@EveryTls
@Timeout(60)
class AdminTlsTest {
  private static final List<String> VERSIONS = List.of("TLSv1.2", "TLSv1.3");
  private static final LocalRoutes ROUTES =
      LocalRoutes.builder()
          .on("POST", "/act", r -> LocalResponse.text(200, r.caller() + "."))
          .build();

  private static final String ACT =
      "POST /act HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";

  @TempDir private static Path directory = Path.of(".");
  private static @Nullable TestCertificate first;
  private static @Nullable TestCertificate second;
  private static @Nullable TestCertificate operator;

  /** Has the name of the operator's certificate, but another key. */
  private static @Nullable TestCertificate forged;

  @Parameter(0)
  Transport transport = Transport.AUTO;

  @Parameter(1)
  TlsProvider provider = TlsProvider.AUTO;

  @BeforeAll
  static void makeCertificates() throws Exception {
    first = TestCertificate.make(directory, "first", "dns:localhost,ip:127.0.0.1");
    second = TestCertificate.make(directory, "second", "dns:localhost,ip:127.0.0.1");
    operator = TestCertificate.make(directory, "operator", "dns:operator");
    Path others = Files.createDirectory(directory.resolve("others"));
    forged = TestCertificate.make(others, "operator", "dns:operator");
  }

  private static ServerTlsSettings tls(String name, String clientCa, ClientCertificates clients) {
    return new ServerTlsSettings(
        directory.resolve(name + ".crt").toString(),
        directory.resolve(name + ".key").toString(),
        "",
        clientCa.isEmpty() ? "" : directory.resolve(clientCa).toString(),
        clients,
        Duration.ofSeconds(30));
  }

  private ProxyRig rig(ServerTlsSettings tls, String key) throws IOException {
    return rig(tls, new AdminGuard(List.of(), key, ""));
  }

  private ProxyRig rig(ServerTlsSettings tls, AdminGuard guard) throws IOException {
    AdminPaths admin = new AdminPaths(ROUTES, LocalRoutes.NONE, ClosedPaths.NONE, guard);
    ProxySettings usual = ProxySettings.DEFAULTS;
    ProxySettings settings = usual.withListen(usual.listen().withTlsProvider(provider));
    return new ProxyRig(transport, settings, LocalRoutes.NONE, admin, tls);
  }

  private static SSLSocket socket(ProxyRig rig, SSLContext context, String... protocols)
      throws IOException {
    return TlsClients.socket(rig.adminPort(), context, VERSIONS, List.of(protocols));
  }

  private static String ask(SSLSocket socket, String... lines) throws IOException {
    String head = "POST /act HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n";
    String more = lines.length == 0 ? "" : String.join("\r\n", lines) + "\r\n";
    socket.getOutputStream().write((head + more + "\r\n").getBytes(US_ASCII));
    InputStream in = socket.getInputStream();
    StringBuilder found = new StringBuilder();
    while (!found.toString().matches("(?s).*\r\n\r\n.*(\\.|\\}\\})")) {
      int b = in.read();
      if (b < 0) {
        break;
      }
      found.append((char) b);
    }
    return found.toString();
  }

  @Test
  void servesHttp1WithItsOwnCertificate() throws Exception {
    try (ProxyRig rig = rig(tls("first", "", ClientCertificates.REQUIRED), "");
        SSLSocket socket = socket(rig, trusting(null, first), "h2", "http/1.1")) {
      assertThat(ask(socket)).startsWith("HTTP/1.1 200 ").endsWith("OPEN.");
      assertThat(ask(socket)).startsWith("HTTP/1.1 200 ");
      assertThat(socket.getApplicationProtocol()).isEqualTo("http/1.1");
      assertThat(name(socket)).isEqualTo("CN=first");
      ProxyRig.await("reported", () -> rig.identities.size() == 2);
      assertThat(rig.identities.getFirst()).startsWith("ADDRESS ");
      // The clients' port has no certificate.
      try (WireClient plain = rig.connect().send("GET /none HTTP/1.1\r\nhost: r\r\n\r\n")) {
        assertThat(plain.read().status()).isEqualTo(503);
      }
    }
  }

  /** Web pages and foreign names are refused as in clear text, and keys count. */
  @Test
  void theChecksOfCallsAreThoseOfClearText() throws Exception {
    try (ProxyRig rig = rig(tls("first", "", ClientCertificates.REQUIRED), "secret");
        SSLSocket socket = socket(rig, trusting(null, first))) {
      assertThat(ask(socket)).startsWith("HTTP/1.1 401 ");
      assertThat(ask(socket, "authorization: Bearer secret")).endsWith("ADMIN.");
      String port = ":" + rig.adminPort();
      assertThat(ask(socket, "authorization: Bearer secret", "origin: https://localhost"))
          .endsWith("ADMIN.");
      assertThat(ask(socket, "authorization: Bearer secret", "origin: https://evil.example" + port))
          .startsWith("HTTP/1.1 403 ");
    }
  }

  @Test
  void clearTextGetsAnAnswerThatSaysSo() throws Exception {
    try (ProxyRig rig = rig(tls("first", "", ClientCertificates.REQUIRED), "");
        WireClient plain = new WireClient(rig.adminPort())) {
      // Longer than one read, because a reset would lose the answer.
      plain.send("POST /act HTTP/1.1\r\nhost: r\r\ncontent-length: 200000\r\n\r\n");
      plain.send("x".repeat(200_000));
      WireResponse answer = plain.read();
      assertThat(answer.status()).isEqualTo(400);
      assertThat(answer.text()).contains("clear text at a port with TLS (expected: https)");
      assertThat(plain.atEnd()).isTrue();
      assertThat(rig.identities).isEmpty();
    }
  }

  @Test
  void aRequiredCertificateIdentifiesTheCaller() throws Exception {
    ServerTlsSettings mutual = tls("first", "operator.crt", ClientCertificates.REQUIRED);
    try (ProxyRig rig = rig(mutual, "")) {
      try (SSLSocket known = socket(rig, trusting(operator, first))) {
        assertThat(ask(known)).startsWith("HTTP/1.1 200 ");
      }
      ProxyRig.await("reported", () -> rig.identities.size() == 1);
      assertThat(rig.identities.getFirst()).isEqualTo("CERTIFICATE CN=operator");
      for (TestCertificate own : new @Nullable TestCertificate[] {null, second, forged}) {
        try (SSLSocket unknown = socket(rig, trusting(own, first))) {
          // The alert, or the end of the connection if it overtakes the alert.
          assertThatThrownBy(() -> ask(unknown)).isInstanceOf(IOException.class);
        }
      }
      awaitFailedHandshakes(rig, 3);
      assertThat(rig.identities).hasSize(1);
    }
  }

  @Test
  void anOptionalCertificateIsNotNeeded() throws Exception {
    ServerTlsSettings either = tls("first", "operator.crt", ClientCertificates.OPTIONAL);
    try (ProxyRig rig = rig(either, "")) {
      try (SSLSocket none = socket(rig, trusting(null, first))) {
        assertThat(ask(none)).startsWith("HTTP/1.1 200 ");
      }
      try (SSLSocket wrong = socket(rig, trusting(forged, first))) {
        assertThatThrownBy(() -> ask(wrong)).isInstanceOf(IOException.class);
      }
      awaitFailedHandshakes(rig, 1);
      assertThat(rig.identities).hasSize(1);
    }
  }

  private static void awaitFailedHandshakes(ProxyRig rig, long count) throws InterruptedException {
    ProxyRig.await("counted", () -> rig.server().adminHandshakesFailed() == count);
    assertThat(rig.server().connections().failedHandshakes()).isZero();
  }

  /** A handshake costs the router more than the caller. */
  @Test
  void aSecondHandshakeIsRefused() throws Exception {
    try (ProxyRig rig = rig(tls("first", "", ClientCertificates.REQUIRED), "");
        SSLSocket again =
            TlsClients.socket(
                rig.adminPort(), trusting(null, first), List.of("TLSv1.2"), List.of())) {
      assertThat(ask(again)).startsWith("HTTP/1.1 200 ");
      assertThatThrownBy(
              () -> {
                again.startHandshake();
                ask(again);
              })
          .isInstanceOf(IOException.class);
      assertThat(rig.identities).hasSize(1);
    }
  }

  @Test
  void aHandshakeThatDoesNotEndIsClosed() throws Exception {
    ServerTlsSettings usual = tls("first", "", ClientCertificates.REQUIRED);
    ServerTlsSettings brief =
        new ServerTlsSettings(
            usual.certificateFile(),
            usual.keyFile(),
            "",
            "",
            ClientCertificates.REQUIRED,
            Duration.ofMillis(50));
    try (ProxyRig rig = rig(brief, "");
        WireClient silent = new WireClient(rig.adminPort())) {
      assertThat(silent.atEnd()).isTrue();
      awaitFailedHandshakes(rig, 1);
    }
  }

  @Test
  void aClientThatTrustsAnotherAuthorityEndsTheHandshake() throws Exception {
    try (ProxyRig rig = rig(tls("first", "", ClientCertificates.REQUIRED), "");
        SSLSocket socket = socket(rig, trusting(null, second))) {
      assertThatThrownBy(() -> ask(socket)).isInstanceOf(SSLHandshakeException.class);
      awaitFailedHandshakes(rig, 1);
      assertThat(rig.identities).isEmpty();
    }
  }

  @Test
  void changedFilesHoldForFurtherConnections() throws Exception {
    String live = "live-" + transport + "-" + provider;
    install("first", live);
    SSLContext context = trusting(null, first, second);
    try (ProxyRig rig = rig(tls(live, "", ClientCertificates.REQUIRED), "");
        SSLSocket old = socket(rig, context)) {
      assertThat(ask(old)).startsWith("HTTP/1.1 200 ");
      install("second", live);
      rig.server().refreshTls();
      assertThat(ask(old)).startsWith("HTTP/1.1 200 ");
      assertThat(name(old)).isEqualTo("CN=first");
      try (SSLSocket fresh = socket(rig, context)) {
        assertThat(ask(fresh)).startsWith("HTTP/1.1 200 ");
        assertThat(name(fresh)).isEqualTo("CN=second");
      }
    }
  }

  @Test
  void otherAuthoritiesInTheSameFileEndOpenConnections() throws Exception {
    String authorities = "ca-" + transport + "-" + provider + ".crt";
    Files.copy(directory.resolve("operator.crt"), directory.resolve(authorities));
    try (ProxyRig rig = rig(tls("first", authorities, ClientCertificates.REQUIRED), "");
        SSLSocket revoked = socket(rig, trusting(operator, first))) {
      assertThat(ask(revoked)).startsWith("HTTP/1.1 200 ");

      Files.copy(
          directory.resolve("second.crt"),
          directory.resolve(authorities),
          StandardCopyOption.REPLACE_EXISTING);
      rig.server().refreshTls();

      assertThat(revoked.getInputStream().read()).as("the connection ends").isEqualTo(-1);
      try (SSLSocket known = socket(rig, trusting(second, first))) {
        assertThat(ask(known)).startsWith("HTTP/1.1 200 ");
      }
    }
  }

  /** While a change is applied, the listener can have other TLS than the check of the calls. */
  @Test
  void certificatesInPlaceOfAKeyAreThoseOfTheConnection() throws Exception {
    ServerTlsSettings mutual = tls("first", "operator.crt", ClientCertificates.REQUIRED);
    AdminGuard guard = new AdminGuard(List.of(), "", "", KeyRing.NONE, false, true);
    try (ProxyRig rig = rig(mutual, guard)) {
      try (SSLSocket known = socket(rig, trusting(operator, first))) {
        assertThat(ask(known)).startsWith("HTTP/1.1 200 ");
      }
      ProxyServer.TlsChange change =
          rig.server().preparedTls(rig.settings().listen(), ServerTlsSettings.OFF);
      change.apply();
      try (WireClient plain = new WireClient(rig.adminPort())) {
        assertThat(plain.send(ACT).read().status()).isEqualTo(401);
      }
      change.finish();
    }
  }

  @Test
  void aConnectionThatWasAcceptedUnderAnUndoneChangeEnds() throws Exception {
    ServerTlsSettings mutual = tls("first", "operator.crt", ClientCertificates.REQUIRED);
    try (ProxyRig rig = rig(mutual, "")) {
      ProxyServer.TlsChange change =
          rig.server().preparedTls(rig.settings().listen(), ServerTlsSettings.OFF);
      change.apply();
      try (WireClient between = new WireClient(rig.adminPort())) {
        assertThat(between.send(ACT).read().status()).isEqualTo(200);
        change.undo();
        change.drop();
        assertThat(between.atEnd()).isTrue();
      }
    }
  }

  private static void install(String from, String to) throws IOException {
    for (String end : List.of(".crt", ".key")) {
      Files.copy(
          directory.resolve(from + end),
          directory.resolve(to + end),
          StandardCopyOption.REPLACE_EXISTING);
    }
  }

  @Test
  void unusableFilesAreNamedByTheirKeys() {
    assertThatThrownBy(() -> rig(tls("missing", "", ClientCertificates.REQUIRED), ""))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("admin-tls.certificate-file: ");
  }
}
