package io.pointsman.observe.metrics;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.tls.ClientTls;
import io.pointsman.proxy.tls.ListenerTls;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.TlsProvider;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.TestCertificate;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

@Timeout(60)
class MetricsServerTest {
  private final FakeClock clock = new FakeClock();
  private final RouterMetrics metrics =
      new RouterMetrics(
          new Fleet(FleetSettings.DEFAULTS, clock::nanos), _ -> "random", 16, clock::nanos, "0");
  private final AtomicInteger readyStatus = new AtomicInteger(200);
  private final HttpClient client = HttpClient.newHttpClient();

  @SuppressWarnings("NullAway.Init")
  private MetricsServer server;

  @BeforeEach
  void open() throws IOException {
    server =
        MetricsServer.open(
            metrics,
            () -> LocalResponse.text(readyStatus.get(), "why"),
            () -> LocalResponse.text(readyStatus.get(), "older"),
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  @AfterEach
  void close() {
    server.close();
    client.close();
  }

  private HttpResponse<String> send(String method, String path, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + path))
            .timeout(Duration.ofSeconds(60))
            .method(method, HttpRequest.BodyPublishers.noBody());
    if (headers.length > 0) {
      request.headers(headers);
    }
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void aScrapeIsPrometheusText() throws Exception {
    HttpResponse<String> response = send("GET", "/metrics");
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("content-type"))
        .hasValueSatisfying(type -> assertThat(type).startsWith("text/plain; version=0.0.4"));
    assertThat(response.body()).contains("# TYPE pointsman_requests_in_flight gauge");
  }

  @Test
  void aScraperCanRequestOpenMetrics() throws Exception {
    HttpResponse<String> response =
        send("GET", "/metrics", "Accept", "application/openmetrics-text; version=1.0.0");
    assertThat(response.body()).endsWith("# EOF\n");
  }

  @Test
  void healthIsAnswered() throws Exception {
    assertThat(send("GET", "/health").statusCode()).isEqualTo(200);
    assertThat(send("HEAD", "/metrics").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/livez").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/readyz").statusCode()).isEqualTo(200);
    readyStatus.set(503);
    HttpResponse<String> notReady = send("GET", "/readyz");
    assertThat(notReady.statusCode()).isEqualTo(503);
    assertThat(notReady.body()).isEqualTo("why");
    assertThat(send("GET", "/liveness").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/readiness").statusCode()).isEqualTo(503);
    assertThat(send("GET", "/readiness").body()).isEqualTo("older");
  }

  private Socket connect(String from) throws IOException {
    return connect(from, server.port());
  }

  private static Socket connect(String from, int port) throws IOException {
    Socket socket = new Socket();
    socket.bind(new InetSocketAddress(from, 0));
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    socket.setSoTimeout(60_000);
    return socket;
  }

  /**
   * Waits for every eighth connection until all before it are accepted. The backlog of the port is
   * short, and the kernel repeats a connect that finds it full only after a second.
   */
  private static void awaitAccepted(int number, int port) {
    if (number % 8 == 7 && number < MetricsListener.MOST_OF_ONE - 8) {
      assertThat(served("127.0.0.9", port)).isTrue();
    }
  }

  private static boolean served(String from, int port) {
    try (Socket socket = connect(from, port)) {
      String request = "GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), US_ASCII).contains(" 200 ");
    } catch (IOException e) {
      return false;
    }
  }

  /** Two addresses take all places, each with the first byte of a request. */
  @Test
  @Tag("full")
  void incompleteRequestsDoNotCloseThePort() throws Exception {
    List<Socket> incomplete = new ArrayList<>();
    try {
      for (String from : List.of("127.0.0.2", "127.0.0.3")) {
        for (int i = 0; i < MetricsListener.MOST_OF_ONE; i++) {
          Socket socket = connect(from);
          socket.getOutputStream().write('G');
          incomplete.add(socket);
          awaitAccepted(i, server.port());
        }
      }
      Await.until("the oldest request makes room", () -> served("127.0.0.4", server.port()));
      assertThat(incomplete.getFirst().getInputStream().read()).isNegative();
      assertThat(served("127.0.0.3", server.port())).isTrue();
    } finally {
      for (Socket each : incomplete) {
        each.close();
      }
    }
  }

  @Test
  void aMalformedRequestGets400() throws Exception {
    String longest = "x".repeat(20_000);
    for (String request : List.of("nonsense\r\n\r\n", "GET / HTTP/1.1\r\na: " + longest)) {
      try (Socket socket = connect("127.0.0.1")) {
        socket.getOutputStream().write(request.getBytes(US_ASCII));
        assertThat(new String(socket.getInputStream().readAllBytes(), US_ASCII))
            .startsWith("HTTP/1.1 400 ")
            .contains("connection: close")
            .endsWith("malformed request\n");
      }
    }
  }

  /** As at the admin listener: one address cannot take all places, and idle ones make room. */
  @Test
  void idleConnectionsDoNotCloseThePort() throws Exception {
    List<Socket> idle = new ArrayList<>();
    try (MetricsListener patient =
        new MetricsListener(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            ListenerTls.off(),
            task -> Thread.ofVirtual().start(task),
            (_, _, _, _) -> LocalResponse.text(200, "OK"),
            Duration.ofHours(1))) {
      patient.accept();
      int port = patient.port();
      for (String from : List.of("127.0.0.2", "127.0.0.3")) {
        for (int i = 0; i < MetricsListener.MOST_OF_ONE + 20; i++) {
          idle.add(connect(from, port));
          awaitAccepted(i, port);
        }
        Await.until("an idle connection of the address makes room", () -> served(from, port));
        idle.add(connect(from, port));
        idle.add(connect(from, port));
      }
      Await.until("that of another address does, too", () -> served("127.0.0.4", port));
    } finally {
      for (Socket each : idle) {
        each.close();
      }
    }
  }

  /** A request that never ends, and the rest of an answer that nobody reads, have a bound. */
  @Test
  @Tag("full")
  void aRequestThatDoesNotEndIsClosed() throws Exception {
    try (Socket slow = connect("127.0.0.1")) {
      slow.getOutputStream().write("GET /metrics HTTP/1.1\r\n".getBytes(US_ASCII));
      assertThat(slow.getInputStream().readAllBytes()).isEmpty();
    }
  }

  @Test
  void requestsThatAreSentAheadAreAnsweredInOrder() throws Exception {
    try (Socket socket = connect("127.0.0.1")) {
      String first = "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
      String last = "GET /none HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
      socket.getOutputStream().write((first.repeat(20) + last).getBytes(US_ASCII));
      String all = new String(socket.getInputStream().readAllBytes(), US_ASCII);
      assertThat(all.split("HTTP/1.1 200 ", -1)).hasSize(21);
      assertThat(all.indexOf("HTTP/1.1 404 ")).isGreaterThan(all.lastIndexOf("HTTP/1.1 200 "));
    }
  }

  /** The name of the page was made to resolve to the loopback. */
  @Test
  void aWebPageUnderItsOwnNameGetsNothing() throws Exception {
    assertThat(statusFor("evil.example:" + server.port())).startsWith("HTTP/1.1 403 ");
    assertThat(statusFor("localhost:" + server.port())).startsWith("HTTP/1.1 200 ");
    assertThat(statusFor("metrics.example")).as("of a proxy").startsWith("HTTP/1.1 200 ");
  }

  private String statusFor(String host) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      socket.setSoTimeout(60_000);
      String request = "GET /metrics HTTP/1.1\r\nhost: " + host + "\r\nconnection: close\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), US_ASCII);
    }
  }

  @Test
  void withTlsFurtherConnectionsGetTheChangedCertificate(@TempDir Path directory) throws Exception {
    TestCertificate first = TestCertificate.make(directory, "first", "dns:localhost");
    TestCertificate second = TestCertificate.make(directory, "second", "dns:localhost");
    TestCertificate scraper = TestCertificate.make(directory, "scraper", "dns:scraper");
    ServerTlsSettings settings =
        new ServerTlsSettings(
            first.certificate().toString(),
            first.key().toString(),
            "",
            scraper.certificate().toString(),
            ServerTlsSettings.ClientCertificates.REQUIRED,
            Duration.ofSeconds(30));
    ListenerTls tls = ListenerTls.open("metrics-tls", settings, false, TlsProvider.JDK);
    try (MetricsServer secure =
        MetricsServer.open(
            metrics,
            () -> LocalResponse.text(200, "ready"),
            () -> LocalResponse.text(200, "ready"),
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            tls)) {
      ClientTls known =
          new ClientTls(
              first.certificate().toString(),
              scraper.certificate().toString(),
              scraper.key().toString());
      assertThat(scrape(secure, known.context("test"))).isEqualTo(200);
      ClientTls without = new ClientTls(first.certificate().toString(), "", "");
      // The alert, or the end of the connection if it overtakes the alert.
      assertThatThrownBy(() -> scrape(secure, without.context("test")))
          .isInstanceOf(IOException.class)
          .isNotInstanceOfAny(HttpTimeoutException.class, ConnectException.class);

      SSLContext trustsFirst = known.context("test");
      String usual = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
      assertThat(cipher(secure, trustsFirst, usual)).isEqualTo(usual);
      String weak = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256";
      assertThatThrownBy(() -> cipher(secure, trustsFirst, weak)).isInstanceOf(IOException.class);
      Files.copy(second.certificate(), first.certificate(), StandardCopyOption.REPLACE_EXISTING);
      Files.copy(second.key(), first.key(), StandardCopyOption.REPLACE_EXISTING);
      tls.refresh();
      assertThatThrownBy(() -> scrape(secure, trustsFirst))
          .isInstanceOf(SSLHandshakeException.class);
      assertThat(scrape(secure, known.context("test"))).isEqualTo(200);
    }
  }

  private static ServerTlsSettings usual(TestCertificate own) {
    return new ServerTlsSettings(
        own.certificate().toString(),
        own.key().toString(),
        "",
        "",
        ServerTlsSettings.ClientCertificates.REQUIRED,
        Duration.ofSeconds(30));
  }

  private MetricsServer secure(TestCertificate own) throws IOException {
    return MetricsServer.open(
        metrics,
        () -> LocalResponse.text(200, "ready"),
        () -> LocalResponse.text(200, "ready"),
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
        ListenerTls.open("metrics-tls", usual(own), false, TlsProvider.JDK));
  }

  private static SSLSocket connect(MetricsServer server, TestCertificate trusted)
      throws IOException {
    SSLSocket socket =
        (SSLSocket)
            new ClientTls(trusted.certificate().toString(), "", "")
                .context("test")
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), server.port());
    socket.setSoTimeout(60_000);
    return socket;
  }

  /** The first line of the answer to a probe. */
  private static String probe(SSLSocket socket) throws IOException {
    socket.getOutputStream().write("GET /health HTTP/1.1\r\nhost: r\r\n\r\n".getBytes(US_ASCII));
    StringBuilder found = new StringBuilder();
    while (!found.toString().endsWith("OK\n")) {
      int b = socket.getInputStream().read();
      if (b < 0) {
        throw new EOFException("after " + found);
      }
      found.append((char) b);
    }
    return found.substring(0, found.indexOf("\r"));
  }

  /** A handshake costs the server more than the client. */
  @Test
  void aSecondHandshakeIsRefused(@TempDir Path directory) throws Exception {
    TestCertificate own = TestCertificate.make(directory, "own", "dns:localhost");
    try (MetricsServer secure = secure(own);
        SSLSocket again = connect(secure, own)) {
      again.setEnabledProtocols(new String[] {"TLSv1.2"});
      assertThat(probe(again)).isEqualTo("HTTP/1.1 200 OK");
      assertThat(probe(again)).isEqualTo("HTTP/1.1 200 OK");
      assertThatThrownBy(
              () -> {
                again.startHandshake();
                probe(again);
              })
          .isInstanceOf(IOException.class)
          .isNotInstanceOf(SocketTimeoutException.class);
    }
  }

  /** On virtual threads a flood of handshakes would hold up probes and the router's own answers. */
  @Test
  void handshakesHaveThreadsOfTheirOwn(@TempDir Path directory) throws Exception {
    TestCertificate own = TestCertificate.make(directory, "own", "dns:localhost");
    try (MetricsServer secure = secure(own);
        SSLSocket socket = connect(secure, own)) {
      assertThat(probe(socket)).isEqualTo("HTTP/1.1 200 OK");
      assertThat(Thread.getAllStackTraces().keySet())
          .filteredOn(thread -> thread.getName().startsWith("pointsman-tls"))
          .isNotEmpty()
          .allMatch(thread -> thread.isDaemon() && !thread.isVirtual());
    }
  }

  /** Two connections: one sends nothing, the other the start of a record. */
  @Test
  @Tag("full")
  void handshakesThatDoNotEndAreClosed(@TempDir Path directory) throws Exception {
    TestCertificate own = TestCertificate.make(directory, "own", "dns:localhost");
    try (MetricsServer secure = secure(own);
        Socket silent = new Socket(InetAddress.getLoopbackAddress(), secure.port());
        Socket slow = new Socket(InetAddress.getLoopbackAddress(), secure.port())) {
      slow.getOutputStream().write(new byte[] {22, 3, 1, 2});
      for (Socket each : List.of(slow, silent)) {
        each.setSoTimeout(60_000);
        assertThat(each.getInputStream().readAllBytes()).hasSizeLessThan(100); // at most an alert
      }
    }
  }

  /** The cipher of a connection with TLS 1.2 from a client that offers one only. */
  private static String cipher(MetricsServer server, SSLContext context, String offered)
      throws IOException {
    try (SSLSocket socket =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), server.port())) {
      socket.setSoTimeout(60_000);
      socket.setEnabledProtocols(new String[] {"TLSv1.2"});
      socket.setEnabledCipherSuites(new String[] {offered});
      socket.startHandshake();
      return socket.getSession().getCipherSuite();
    }
  }

  private static int scrape(MetricsServer server, SSLContext context) throws Exception {
    try (HttpClient secure = HttpClient.newBuilder().sslContext(context).build()) {
      return secure
          .send(
              HttpRequest.newBuilder(URI.create("https://localhost:" + server.port() + "/metrics"))
                  .timeout(Duration.ofSeconds(60))
                  .build(),
              HttpResponse.BodyHandlers.discarding())
          .statusCode();
    }
  }

  @Test
  void aPageThatCannotBeWrittenIsAnsweredAndLogged() throws Exception {
    metrics.splitWaiting(
        () -> {
          throw new IllegalStateException("no figure");
        });
    Logger logger = (Logger) LoggerFactory.getLogger(MetricsServer.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    logger.setLevel(Level.ERROR);
    try {
      assertThat(send("GET", "/metrics").statusCode()).isEqualTo(500);
    } finally {
      logger.setLevel(null);
      logger.detachAppender(logged);
    }
    assertThat(logged.list)
        .singleElement()
        .returns(Level.ERROR, ILoggingEvent::getLevel)
        .satisfies(event -> assertThat(event.getThrowableProxy().getMessage()).contains("figure"));
    assertThat(send("GET", "/health").statusCode()).isEqualTo(200);
  }

  @Test
  void otherRequestsAreRefused() throws Exception {
    assertThat(send("GET", "/v1/models").statusCode()).isEqualTo(404);
    assertThat(send("POST", "/metrics").statusCode()).isEqualTo(405);
  }
}
