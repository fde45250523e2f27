package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CountDownLatch;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** TLS of listeners that begins, changes and ends while the router runs, over sockets. */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before each test
class ChangedTlsTest {
  private static final String STREAM = "{\"model\":\"m\",\"messages\":[],\"stream\":true}";

  @TempDir Path directory;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final CountDownLatch streamEnds = new CountDownLatch(1);
  private TestCertificate one;
  private TestCertificate two;
  private String workers;

  @BeforeEach
  void start() throws Exception {
    one = TestCertificate.make(directory, "one", "ip:127.0.0.1");
    two = TestCertificate.make(directory, "two", "ip:127.0.0.1");
    ScriptedEngine engine =
        ScriptedEngine.start(new Faults.Healthy("m", new Faults.OpenStreams(STREAM, streamEnds)));
    opened.push(engine);
    workers = "policy: round_robin\nworkers: ['" + engine.url() + "']\n";
  }

  @AfterEach
  void close() throws Exception {
    streamEnds.countDown();
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private PointsmanConfig config(String more) {
    String yaml =
        "listen: {port: 0}\nmetrics: {port: 0}\nhealth: {first-retry: 10ms}\n" + workers + more;
    return PointsmanConfig.from(
        YamlConfig.parse("test", yaml.contains("admin:") ? yaml : yaml + "admin: {port: 0}\n"));
  }

  private Router started(PointsmanConfig config) {
    Router router = Router.start(config, "test");
    opened.push(router);
    Await.until("healthy", () -> router.fleet().snapshot().workers().getFirst().health().healthy());
    return router;
  }

  private static String tls(String group, TestCertificate certificate, String more) {
    return "%s: {certificate-file: '%s', key-file: '%s'%s}\n"
        .formatted(group, certificate.certificate(), certificate.key(), more);
  }

  private static String url(Router router, String group) {
    return switch (group) {
      case "tls" -> router.url() + "/health";
      case "admin-tls" -> router.adminUrl() + "/workers";
      default -> String.valueOf(router.metricsUrl());
    };
  }

  private static SSLContext trusting(TestCertificate trusted, @Nullable TestCertificate own)
      throws Exception {
    KeyStore known = KeyStore.getInstance("PKCS12");
    known.load(null, null);
    known.setCertificateEntry("known", certificate(trusted));
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(known);
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    if (own != null) {
      keys.init(own.store(), "changeit".toCharArray());
    }
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(own == null ? null : keys.getKeyManagers(), managers.getTrustManagers(), null);
    return context;
  }

  private static X509Certificate certificate(TestCertificate of) throws Exception {
    return (X509Certificate) of.store().getCertificate(of.store().aliases().nextElement());
  }

  /** The status of a call on a new connection. */
  private static int call(String url, TestCertificate trusted, @Nullable TestCertificate own)
      throws Exception {
    try (HttpClient http = HttpClient.newBuilder().sslContext(trusting(trusted, own)).build()) {
      HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
      return http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
    }
  }

  private static Socket connected(String url) throws IOException {
    return new Socket(InetAddress.getLoopbackAddress(), URI.create(url).getPort());
  }

  private static void send(Socket socket, String method, String path, String body)
      throws IOException {
    String head =
        "%s %s HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n%s\r\n%s"
            .formatted(
                method,
                path,
                body.isEmpty() ? "" : "content-length: " + body.length() + "\r\n",
                body);
    socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
  }

  private static String until(InputStream in, String end) throws IOException {
    StringBuilder read = new StringBuilder();
    while (read.indexOf(end) < 0) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("the end, after: " + read);
      }
      read.append((char) next);
    }
    return read.toString();
  }

  @ParameterizedTest
  @ValueSource(strings = {"tls", "admin-tls", "metrics-tls"})
  void tlsBeginsChangesAndEnds(String group) throws Exception {
    PointsmanConfig clear = config("");
    Router router = started(clear);
    String before = url(router, group);
    assertThat(before).startsWith("http://");
    try (Socket idle = connected(before)) {
      send(idle, "GET", URI.create(before).getPath(), "");
      assertThat(until(idle.getInputStream(), "\r\n\r\n")).startsWith("HTTP/1.1 200 ");

      PointsmanConfig first = config(tls(group, one, ""));
      router.change(clear, first);

      String after = url(router, group);
      assertThat(after).isEqualTo(before.replace("http:", "https:"));
      assertThat(call(after, one, null)).isEqualTo(200);
      // The rest of the answer, and then the end.
      idle.setSoTimeout(60_000);
      idle.getInputStream().readAllBytes();

      PointsmanConfig second = config(tls(group, two, ""));
      router.change(first, second);
      assertThat(call(after, two, null)).isEqualTo(200);
      assertThatThrownBy(() -> call(after, one, null)).isInstanceOf(IOException.class);

      PointsmanConfig missing =
          config("%s: {certificate-file: '%s/no.crt'}\n".formatted(group, directory));
      assertThatThrownBy(() -> router.change(second, missing))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(group + ".certificate-file: ");
      PointsmanConfig mixed =
          config(
              "%s: {certificate-file: '%s', key-file: '%s'}\n"
                  .formatted(group, two.certificate(), one.key()));
      assertThatThrownBy(() -> router.change(second, mixed))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(group + ".key-file: " + one.key());
      assertThat(call(after, two, null)).isEqualTo(200);

      PointsmanConfig mutual =
          config(tls(group, two, ", client-ca-file: '" + one.certificate() + "'"));
      router.change(second, mutual);
      assertThat(call(after, two, one)).isEqualTo(200);
      assertThatThrownBy(() -> call(after, two, null)).isInstanceOf(IOException.class);

      router.change(mutual, clear);
      assertThat(url(router, group)).isEqualTo(before);
      assertThat(call(before, two, null)).isEqualTo(200);
    }
  }

  @Test
  void aStreamInProgressEndsAsItBegan() throws Exception {
    PointsmanConfig clear = config("");
    Router router = started(clear);
    try (Socket stream = connected(router.url())) {
      send(stream, "POST", "/v1/chat/completions", STREAM);
      String begun = until(stream.getInputStream(), "data: begun\n\n");
      assertThat(begun).startsWith("HTTP/1.1 200 ");

      router.change(clear, config(tls("tls", one, "")));
      assertThat(call(router.url() + "/health", one, null)).isEqualTo(200);
      streamEnds.countDown();

      String rest = until(stream.getInputStream(), "\r\n0\r\n\r\n");
      assertThat(rest).contains("data: [DONE]\n\n");
      stream.setSoTimeout(60_000);
      assertThat(stream.getInputStream().read()).as("the connection ends").isEqualTo(-1);
    }
  }

  /** An open connection in clear text must not use that certificates replace the key. */
  @Test
  void certificatesInPlaceOfTheKeyCountForOpenConnectionsToo() throws Exception {
    PointsmanConfig byKey = config("admin: {port: 0, api-key: a1}\n");
    Router router = started(byKey);
    try (Socket open = connected(router.adminUrl())) {
      send(open, "GET", "/workers", "");
      assertThat(until(open.getInputStream(), "\r\n\r\n")).startsWith("HTTP/1.1 401 ");

      router.change(
          byKey, config(tls("admin-tls", one, ", client-ca-file: '" + two.certificate() + "'")));

      // A connection that stays open ends the test with a timeout.
      open.setSoTimeout(60_000);
      try {
        send(open, "GET", "/workers", "");
        String rest = new String(open.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        assertThat(rest).doesNotContain("HTTP/1.1 200");
      } catch (SocketException e) {
        assertThat(e).as("closed before the request").isNotNull();
      }
      assertThat(call(router.adminUrl() + "/workers", one, two)).isEqualTo(200);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"tls", "admin-tls", "metrics-tls"})
  void changedFilesAreReadAfterTlsHasBegun(String group) throws Exception {
    Path certificate = Files.copy(one.certificate(), directory.resolve("live.crt"));
    Path key = Files.copy(one.key(), directory.resolve("live.key"));
    PointsmanConfig clear = config("");
    Router router = started(clear);
    router.change(
        clear,
        config(
            "%s: {certificate-file: '%s', key-file: '%s'}\n".formatted(group, certificate, key)));
    assertThat(call(url(router, group), one, null)).isEqualTo(200);

    Files.copy(two.certificate(), certificate, StandardCopyOption.REPLACE_EXISTING);
    Files.copy(two.key(), key, StandardCopyOption.REPLACE_EXISTING);

    Await.until("the other certificate", () -> trusts(url(router, group), two));
  }

  private static boolean trusts(String url, TestCertificate certificate) {
    try {
      return call(url, certificate, null) == 200;
    } catch (IOException e) {
      return false;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void protocolsChangeOverTls() throws Exception {
    PointsmanConfig both = config(tls("tls", one, ""));
    Router router = started(both);
    assertThat(version(router)).isEqualTo(HttpClient.Version.HTTP_2);
    PointsmanConfig old = config(tls("tls", one, "") + "http2: {enabled: false}\n");
    router.change(both, old);
    assertThat(version(router)).isEqualTo(HttpClient.Version.HTTP_1_1);
    router.change(old, both);
    assertThat(version(router)).isEqualTo(HttpClient.Version.HTTP_2);
  }

  private HttpClient.Version version(Router router) throws Exception {
    try (HttpClient http = HttpClient.newBuilder().sslContext(trusting(one, null)).build()) {
      HttpRequest request = HttpRequest.newBuilder(URI.create(router.url() + "/health")).build();
      return http.send(request, HttpResponse.BodyHandlers.ofString()).version();
    }
  }
}
