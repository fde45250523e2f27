package io.pointsman.proxy;

import static io.pointsman.proxy.TlsClients.name;
import static io.pointsman.proxy.TlsClients.trusting;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.proxy.http2.Http2FrontSettings;
import io.pointsman.proxy.tls.ServerTls;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import io.pointsman.proxy.tls.TlsProvider;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.TestCertificate.KeyKind;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.Faults.EventStream;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** TLS on the clients' port: protocols, certificates of clients, and changed files. */
@SuppressWarnings("try") // tests may be interrupted
@EveryTls
@Timeout(60)
class ClientTlsTest {
  private static final String BODY = "{\"model\":\"m\"}";

  @TempDir private static Path directory = Path.of(".");
  private static @Nullable TestCertificate first;
  private static @Nullable TestCertificate second;
  private static @Nullable TestCertificate client;

  /** Has the name of the client's certificate, but another key. */
  private static @Nullable TestCertificate forged;

  @Parameter(0)
  Transport transport = Transport.AUTO;

  @Parameter(1)
  TlsProvider provider = TlsProvider.AUTO;

  @BeforeAll
  static void makeCertificates() throws Exception {
    first = TestCertificate.make(directory, "first", "dns:localhost,ip:127.0.0.1");
    second = TestCertificate.make(directory, "second", "dns:localhost,ip:127.0.0.1");
    client = TestCertificate.make(directory, "client", "dns:client");
    Path others = Files.createDirectory(directory.resolve("others"));
    forged = TestCertificate.make(others, "client", "dns:client");
  }

  private static ServerTlsSettings tls(String name) {
    return new ServerTlsSettings(
        file(name + ".crt"),
        file(name + ".key"),
        "",
        "",
        ClientCertificates.REQUIRED,
        Duration.ofSeconds(30));
  }

  private static ServerTlsSettings mutual(ClientCertificates clients) {
    ServerTlsSettings one = tls("first");
    return new ServerTlsSettings(
        one.certificateFile(),
        one.keyFile(),
        "",
        file("client.crt"),
        clients,
        one.handshakeTimeout());
  }

  private static String file(String name) {
    return directory.resolve(name).toString();
  }

  private ProxyRig rig(ServerTlsSettings tls) throws IOException {
    ProxySettings usual = ProxySettings.DEFAULTS;
    return new ProxyRig(
        transport, usual.withListen(usual.listen().withTls(tls).withTlsProvider(provider)));
  }

  private static SSLSocket socket(
      ProxyRig rig, SSLContext context, List<String> versions, List<String> protocols)
      throws IOException {
    return TlsClients.socket(rig.server().port(), context, versions, protocols);
  }

  private static String ask(SSLSocket socket) throws IOException {
    socket.getOutputStream().write(ProxyRig.post("/v1/chat/completions", BODY).getBytes(UTF_8));
    InputStream in = socket.getInputStream();
    StringBuilder found = new StringBuilder();
    while (!found.toString().contains("{\"ok\":true}")) {
      int b = in.read();
      if (b < 0) {
        break;
      }
      found.append((char) b);
    }
    return found.toString();
  }

  @Test
  void bothVersionsServeHttp1() throws Exception {
    try (ProxyRig rig = rig(tls("first"));
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok())) {
      rig.worker(engine.url());
      for (String version : List.of("TLSv1.2", "TLSv1.3")) {
        try (SSLSocket socket =
            socket(rig, trusting(null, first), List.of(version), List.of("http/1.1"))) {
          assertThat(ask(socket)).startsWith("HTTP/1.1 200 ");
          assertThat(ask(socket)).startsWith("HTTP/1.1 200 ");
          assertThat(socket.getSession().getProtocol()).isEqualTo(version);
          assertThat(socket.getApplicationProtocol()).isEqualTo("http/1.1");
        }
      }
      assertThat(rig.server().connections().begun(false, true)).isEqualTo(2);
    }
  }

  @Test
  void theClientOfTheJdkGetsHttp2() throws Exception {
    try (ProxyRig rig = rig(tls("first"));
        ScriptedEngine engine = ScriptedEngine.start(new EventStream(List.of("a", "b")));
        HttpClient http = HttpClient.newBuilder().sslContext(trusting(null, first)).build()) {
      rig.worker(engine.url());
      for (int i = 0; i < 3; i++) {
        HttpResponse<String> answer =
            http.send(
                HttpRequest.newBuilder(
                        URI.create(
                            "https://localhost:" + rig.server().port() + "/v1/chat/completions"))
                    .POST(HttpRequest.BodyPublishers.ofString(BODY))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_2);
        assertThat(answer.body()).isEqualTo("data: a\n\ndata: b\n\ndata: [DONE]\n\n");
        EngineRequest sent = engine.awaitRequest();
        assertThat(sent.bodyText()).isEqualTo(BODY);
      }
      assertThat(rig.server().connections().begun(true, true)).isEqualTo(1);
    }
  }

  @Test
  void withoutHttp2TheClientOfTheJdkGetsHttp1() throws Exception {
    ProxySettings usual = ProxySettings.DEFAULTS;
    ListenSettings listen =
        usual
            .listen()
            .withTls(tls("first"))
            .withTlsProvider(provider)
            .withHttp2(new Http2FrontSettings(false, false, 1, 1));
    try (ProxyRig rig = new ProxyRig(transport, usual.withListen(listen));
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        HttpClient http = HttpClient.newBuilder().sslContext(trusting(null, first)).build()) {
      rig.worker(engine.url());
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(
                      URI.create("https://localhost:" + rig.server().port() + "/v1/x"))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_1_1);
    }
  }

  @Test
  void oldVersionsAndOtherProtocolsAreRefused() throws Exception {
    try (ProxyRig rig = rig(tls("first"))) {
      try (WireClient plain = rig.connect().send("GET / HTTP/1.1\r\nhost: r\r\n\r\n")) {
        WireResponse answer = plain.read();
        assertThat(answer.status()).isEqualTo(400);
        assertThat(answer.text()).contains("a port with TLS (expected: https)");
        assertThat(plain.atEnd()).isTrue();
      }
      try (WireClient other = rig.connect().send("\u0001\u0002 no protocol at all\r\n\r\n")) {
        assertThat(other.atEnd()).isTrue();
      }
      ProxyRig.await("counted", () -> rig.server().connections().failedHandshakes() == 2);
      ProxyRig.await("closed", () -> rig.server().clients() == 0);
    }
  }

  @Test
  void aHandshakeThatDoesNotEndIsClosed() throws Exception {
    ServerTlsSettings usual = tls("first");
    ServerTlsSettings brief =
        new ServerTlsSettings(
            usual.certificateFile(),
            usual.keyFile(),
            "",
            "",
            ClientCertificates.REQUIRED,
            Duration.ofMillis(50));
    try (ProxyRig rig = rig(brief);
        WireClient silent = rig.connect()) {
      assertThat(silent.atEnd()).isTrue();
      ProxyRig.await("counted", () -> rig.server().connections().failedHandshakes() == 1);
    }
  }

  /** On virtual threads a flood of handshakes would hold up probes and the router's own answers. */
  @Test
  void handshakesHaveThreadsOfTheirOwn() throws Exception {
    try (ProxyRig rig = rig(tls("first"));
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok())) {
      rig.worker(engine.url());
      try (SSLSocket client = socket(rig, trusting(null, first), List.of("TLSv1.3"), List.of())) {
        assertThat(ask(client)).startsWith("HTTP/1.1 200 ");
        assertThat(Thread.getAllStackTraces().keySet())
            .filteredOn(thread -> thread.getName().startsWith("pointsman-tls"))
            .isNotEmpty()
            .allMatch(thread -> thread.isDaemon() && !thread.isVirtual());
      }
    }
  }

  /** A handshake costs the server more than the client. */
  @Test
  void aSecondHandshakeIsRefused() throws Exception {
    try (ProxyRig rig = rig(tls("first"));
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok())) {
      rig.worker(engine.url());
      SSLContext context = trusting(null, first);
      try (SSLSocket again = socket(rig, context, List.of("TLSv1.2"), List.of())) {
        assertThat(ask(again)).startsWith("HTTP/1.1 200 ");
        assertThatThrownBy(
                () -> {
                  again.startHandshake();
                  ask(again);
                })
            .isInstanceOf(IOException.class);
      }
      ProxyRig.await("closed", () -> rig.server().clients() == 0);
      assertThat(engine.requests()).hasSize(1);
    }
  }

  @Test
  void aRequiredCertificateOfTheClientIsVerified() throws Exception {
    try (ProxyRig rig = rig(mutual(ClientCertificates.REQUIRED));
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok())) {
      rig.worker(engine.url());
      List<String> versions = List.of("TLSv1.2", "TLSv1.3");
      try (SSLSocket known = socket(rig, trusting(client, first), versions, List.of())) {
        assertThat(ask(known)).startsWith("HTTP/1.1 200 ");
      }
      ProxyRig.await("reported", () -> rig.identities.size() == 1);
      assertThat(rig.identities.getFirst()).startsWith("CERTIFICATE ").contains("CN=");
      for (TestCertificate own : new @Nullable TestCertificate[] {null, second, forged}) {
        SSLContext context = trusting(own, first);
        try (SSLSocket unknown = socket(rig, context, versions, List.of())) {
          assertThatThrownBy(() -> ask(unknown)).isInstanceOf(IOException.class);
        }
      }
      assertThat(engine.requests()).hasSize(1);
    }
  }

  @Test
  void anOptionalCertificateOfTheClientIsVerifiedIfItIsThere() throws Exception {
    try (ProxyRig rig = rig(mutual(ClientCertificates.OPTIONAL));
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok())) {
      rig.worker(engine.url());
      List<String> versions = List.of("TLSv1.3");
      try (SSLSocket none = socket(rig, trusting(null, first), versions, List.of())) {
        assertThat(ask(none)).startsWith("HTTP/1.1 200 ");
        // It may be the response of a client with a certificate.
        String unowned =
            "GET /v1/responses/resp_1 HTTP/1.1\r\nhost: r\r\nconnection: close\r\n\r\n";
        none.getOutputStream().write(unowned.getBytes(UTF_8));
        assertThat(new String(none.getInputStream().readAllBytes(), UTF_8))
            .startsWith("HTTP/1.1 404 ")
            .contains("response_not_found");
      }
      try (SSLSocket unknown = socket(rig, trusting(forged, first), versions, List.of())) {
        assertThatThrownBy(() -> ask(unknown)).isInstanceOf(IOException.class);
      }
    }
  }

  private String live() {
    return "live-" + transport + "-" + provider;
  }

  /** Open connections go on; later ones get the new certificate. */
  @Test
  void changedFilesHoldForFurtherConnections() throws Exception {
    Path certificate = directory.resolve(live() + ".crt");
    Path key = directory.resolve(live() + ".key");
    Files.copy(Path.of(file("first.crt")), certificate);
    Files.copy(Path.of(file("first.key")), key);
    SSLContext context = trusting(null, first, second);
    try (ProxyRig rig = rig(tls(live()));
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok())) {
      rig.worker(engine.url());
      try (SSLSocket old = socket(rig, context, List.of("TLSv1.3"), List.of())) {
        assertThat(ask(old)).startsWith("HTTP/1.1 200 ");
        assertThat(name(old)).isEqualTo("CN=first");

        // In the middle of a replacement the files do not belong together.
        Files.copy(Path.of(file("second.crt")), certificate, StandardCopyOption.REPLACE_EXISTING);
        rig.server().refreshTls();
        try (SSLSocket between = socket(rig, context, List.of("TLSv1.3"), List.of())) {
          assertThat(ask(between)).startsWith("HTTP/1.1 200 ");
          assertThat(name(between)).isEqualTo("CN=first");
        }

        Files.copy(Path.of(file("second.key")), key, StandardCopyOption.REPLACE_EXISTING);
        rig.server().refreshTls();
        assertThat(ask(old)).startsWith("HTTP/1.1 200 ");
        try (SSLSocket fresh = socket(rig, context, List.of("TLSv1.3"), List.of())) {
          assertThat(ask(fresh)).startsWith("HTTP/1.1 200 ");
          assertThat(name(fresh)).isEqualTo("CN=second");
        }

        Files.delete(key);
        rig.server().refreshTls();
        try (SSLSocket still = socket(rig, context, List.of("TLSv1.3"), List.of())) {
          assertThat(name(still)).isEqualTo("CN=second");
        }
      }
    }
  }

  /** BoringSSL signs with RSA and three curves only. */
  @ParameterizedTest
  @CsvSource({"true, RSA", "true, EC_P384", "true, EC_P521", "false, ED25519", "false, RSA_PSS"})
  void keysOfEachKindServe(boolean everywhere, KeyKind kind) throws Exception {
    String name = "kind-" + kind + transport + provider;
    TestCertificate own = TestCertificate.make(directory, name, "dns:localhost", kind);
    TlsProvider able = everywhere || provider == TlsProvider.JDK ? provider : TlsProvider.AUTO;
    ListenSettings listen = ListenSettings.DEFAULTS.withTls(tls(name)).withTlsProvider(able);
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS.withListen(listen));
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok())) {
      rig.worker(engine.url());
      for (String version : List.of("TLSv1.2", "TLSv1.3")) {
        try (SSLSocket socket = socket(rig, trusting(null, own), List.of(version), List.of())) {
          assertThat(ask(socket)).startsWith("HTTP/1.1 200 ");
        }
      }
    }
    if (able == TlsProvider.AUTO) {
      assertThatThrownBy(() -> ServerTls.open("tls", tls(name), true, provider))
          .hasMessageStartingWith("tls.provider: openssl (expected: auto or jdk, because BoringSSL")
          .hasMessageContaining("CN=" + name);
    }
  }

  @Test
  void unusableFilesAreRefusedWithTheirNames() throws Exception {
    Files.writeString(directory.resolve("empty.crt"), "nothing");
    Files.copy(
        directory.resolve("first.key"),
        directory.resolve("empty.key"),
        StandardCopyOption.REPLACE_EXISTING);
    assertThatThrownBy(() -> ServerTls.open("tls", tls("empty"), true, provider))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("tls.certificate-file: " + file("empty.crt"));
    assertThatThrownBy(() -> ServerTls.open("tls", tls("missing"), true, provider))
        .hasMessageStartingWith("tls.certificate-file: " + file("missing.crt"));
    ServerTlsSettings others =
        new ServerTlsSettings(
            file("first.crt"),
            file("second.key"),
            "",
            "",
            ClientCertificates.REQUIRED,
            Duration.ofSeconds(1));
    assertThatThrownBy(() -> ServerTls.open("tls", others, true, provider))
        .hasMessageStartingWith("tls.key-file: " + file("second.key"))
        .hasMessageContaining("the key is not that of the certificate");
  }

  /** The preface of HTTP/2 begins before TLS does, and ends when other connections have ended. */
  @Test
  void aConnectionInClearTextEndsAlthoughItsPrefaceCameInParts() throws Exception {
    String preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    String settings = "\0\0\0\4\0\0\0\0\0";
    List<WireClient> idle = new ArrayList<>();
    try (ProxyRig rig = rig(ServerTlsSettings.OFF);
        WireClient slow = rig.connect().send(preface.substring(0, 12))) {
      // At least one on each loop.
      for (int i = 0; i < 4 * Runtime.getRuntime().availableProcessors(); i++) {
        idle.add(rig.connect());
      }
      ProxyRig.await("connected", () -> rig.server().clients() == idle.size() + 1);
      ListenSettings next = rig.settings().listen().withTls(tls("first"));
      ProxyServer.TlsChange begins = rig.server().preparedTls(next, ServerTlsSettings.OFF);
      begins.apply();
      begins.finish();
      for (WireClient each : idle) {
        assertThat(each.atEnd()).isTrue();
      }

      slow.send(preface.substring(12) + settings);

      ProxyRig.await("the connection ends", () -> rig.server().clients() == 0);
    } finally {
      for (WireClient each : idle) {
        each.close();
      }
    }
  }
}
