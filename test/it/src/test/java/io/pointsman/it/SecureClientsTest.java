package io.pointsman.it;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.plane.haproxy.HaproxyPlane;
import io.pointsman.proxy.tls.ClientTls;
import io.pointsman.server.wiring.StartException;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A router with a certificate for clients: its keys, changed files, and metrics. */
@Timeout(120)
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
class SecureClientsTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private static Path directory = Path.of(".");
  private static @Nullable TestCertificate first;
  private static @Nullable TestCertificate second;

  @BeforeAll
  static void makeCertificates() throws Exception {
    first = TestCertificate.make(directory, "first", "dns:localhost,ip:127.0.0.1");
    second = TestCertificate.make(directory, "second", "dns:localhost,ip:127.0.0.1");
  }

  private static String settings(String tls, ScriptedEngine engine) {
    return """
    listen: {port: 0}
    metrics: {port: 0}
    log: {level: error}
    tls: {certificate-file: %s/live.crt, key-file: %s/live.key%s}
    workers: [{url: '%s', models: [m]}]
    """
        .formatted(directory, directory, tls, engine.url());
  }

  private static void install(String name) throws Exception {
    for (String end : new String[] {".crt", ".key"}) {
      Files.copy(
          directory.resolve(name + end),
          directory.resolve("live" + end),
          StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static HttpClient client() throws Exception {
    KeyStore known = KeyStore.getInstance("PKCS12");
    known.load(null, null);
    for (TestCertificate each : new @Nullable TestCertificate[] {first, second}) {
      KeyStore store = requireNonNull(each).store();
      String alias = store.aliases().nextElement();
      known.setCertificateEntry(alias, store.getCertificate(alias));
    }
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(known);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return HttpClient.newBuilder().sslContext(context).build();
  }

  private static HttpResponse<String> chat(HttpClient client, RunningRouter running)
      throws Exception {
    return client.send(
        HttpRequest.newBuilder(
                URI.create("https://localhost:" + running.port() + "/v1/chat/completions"))
            .POST(HttpRequest.BodyPublishers.ofString("{\"model\":\"m\",\"messages\":[]}"))
            .build(),
        BodyHandlers.ofString());
  }

  private static String certificate(HttpResponse<?> answer) throws Exception {
    X509Certificate found =
        (X509Certificate) answer.sslSession().orElseThrow().getPeerCertificates()[0];
    return found.getSubjectX500Principal().getName();
  }

  @Test
  void servesHttp2WithTheCertificateThatIsThere() throws Exception {
    install("first");
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
        RunningRouter running = RunningRouter.start(settings("", engine));
        HttpClient old = client()) {
      WaitFor.until("all workers are healthy", WaitFor.LONG, running::allHealthy);
      HttpResponse<String> answer = chat(old, running);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_2);
      assertThat(certificate(answer)).isEqualTo("CN=first");
      assertThat(running.metric("pointsman_client_protocols_total", "protocol=\"http2\""))
          .isEqualTo(1);

      install("second");
      WaitFor.until(
          "a fresh connection has the new certificate",
          WaitFor.LONG,
          () -> {
            try (HttpClient fresh = client()) {
              return certificate(chat(fresh, running)).equals("CN=second");
            } catch (Exception e) {
              throw new IllegalStateException(e);
            }
          });
      assertThat(certificate(chat(old, running))).isEqualTo("CN=first");
    }
  }

  /** The requests of batches go to the router's own port. */
  @Test
  void batchesRunOverTls() throws Exception {
    install("first");
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
        RunningRouter running =
            RunningRouter.start(
                settings("", engine)
                    + "batch: {enabled: true, directory: '"
                    + directory.resolve("files")
                    + "'}\n");
        HttpClient client = client()) {
      WaitFor.until("all workers are healthy", WaitFor.LONG, running::allHealthy);
      String part = "--b\r\nContent-Disposition: form-data; name=";
      String line =
          "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\","
              + "\"body\":{\"model\":\"m\",\"messages\":[]}}";
      String upload =
          part
              + "\"purpose\"\r\n\r\nbatch\r\n"
              + part
              + "\"file\"; filename=\"in.jsonl\"\r\n\r\n"
              + line
              + "\r\n--b--\r\n";
      String file = id(client, running, "/v1/files", "multipart/form-data; boundary=b", upload);
      String batch =
          id(
              client,
              running,
              "/v1/batches",
              "application/json",
              "{\"input_file_id\":\"" + file + "\",\"endpoint\":\"/v1/chat/completions\"}");
      URI shown = URI.create("https://localhost:" + running.port() + "/v1/batches/" + batch);
      WaitFor.until(
          "the batch is completed",
          WaitFor.LONG,
          () -> {
            try {
              JsonNode found =
                  JSON.readTree(
                      client
                          .send(HttpRequest.newBuilder(shown).build(), BodyHandlers.ofString())
                          .body());
              return found.path("status").asText().equals("completed")
                  && found.at("/request_counts/completed").asInt() == 1;
            } catch (Exception e) {
              throw new IllegalStateException(e);
            }
          });
    }
  }

  /** The admin listener and the metrics have certificates of their own settings. */
  @Test
  void theOtherListenersHaveTls() throws Exception {
    TestCertificate operator = TestCertificate.make(directory, "operator", "dns:operator");
    String own = "{certificate-file: %1$s/first.crt, key-file: %1$s/first.key".formatted(directory);
    String yaml =
        "listen: {port: 0}\nlog: {level: error}\n"
            + "admin: {port: 0, host: 0.0.0.0, on-client-port: false}\n"
            + "admin-tls: "
            + own
            + ", client-ca-file: "
            + operator.certificate()
            + "}\nmetrics: {port: 0}\nmetrics-tls: "
            + own
            + "}\ndecide: {spoe-address: '127.0.0.1:0'}\n";
    ClientTls known =
        new ClientTls(
            directory.resolve("first.crt").toString(),
            operator.certificate().toString(),
            operator.key().toString());
    ClientTls nobody = new ClientTls(known.caFile(), "", "");
    try (RunningRouter running = RunningRouter.start(yaml);
        HttpClient scraper = HttpClient.newBuilder().sslContext(nobody.context("test")).build();
        HttpClient admin = HttpClient.newBuilder().sslContext(known.context("test")).build()) {
      URI url = URI.create("https://localhost:" + running.adminPort());
      assertThat(running.adminUrl()).startsWith("https://");
      assertThat(status(admin, url.resolve("/workers"))).isEqualTo(200);
      assertThat(status(admin, url.resolve("/decisions"))).isEqualTo(200);
      assertThatThrownBy(() -> status(scraper, url.resolve("/workers")))
          .isInstanceOf(IOException.class);
      assertThat(status(scraper, URI.create(running.metricsUrl()))).isEqualTo(200);
      double failed = awaitFailedHandshakes(scraper, running, 1);

      // The command for HAProxy reads the router's addresses there.
      assertThat(HaproxyPlane.spoeOf(url, "", known).getPort()).isPositive();
      assertThatThrownBy(() -> HaproxyPlane.spoeOf(url, "", nobody))
          .isInstanceOf(IOException.class);
      awaitFailedHandshakes(scraper, running, failed + 1);
    }
  }

  /**
   * Waits until the admin listener has refused callers by their certificate.
   *
   * @return their number, at least {@code least}
   */
  private static double awaitFailedHandshakes(
      HttpClient scraper, RunningRouter running, double least) throws Exception {
    HttpRequest scrape = HttpRequest.newBuilder(URI.create(running.metricsUrl())).build();
    String start = "pointsman_tls_handshakes_failed_total{listener=\"admin\"} ";
    double found;
    do {
      String page = scraper.send(scrape, BodyHandlers.ofString()).body();
      found =
          page.lines()
              .filter(line -> line.startsWith(start))
              .mapToDouble(line -> Double.parseDouble(line.substring(start.length())))
              .sum();
    } while (found < least);
    return found;
  }

  private static int status(HttpClient client, URI url) throws Exception {
    return client.send(HttpRequest.newBuilder(url).build(), BodyHandlers.discarding()).statusCode();
  }

  private static String id(
      HttpClient client, RunningRouter running, String path, String type, String body)
      throws Exception {
    HttpResponse<String> answer =
        client.send(
            HttpRequest.newBuilder(URI.create("https://localhost:" + running.port() + path))
                .header("content-type", type)
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build(),
            BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return JSON.readTree(answer.body()).path("id").asText();
  }

  @Test
  void anUnusableCertificateKeepsTheRouterFromStarting() throws Exception {
    install("first");
    try (ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok())) {
      String wrong = settings(", client-ca-file: " + directory.resolve("none.crt"), engine);
      assertThatThrownBy(() -> RunningRouter.start(wrong))
          .isInstanceOf(StartException.class)
          .hasMessageContaining("tls.client-ca-file: " + directory.resolve("none.crt"));
    }
  }
}
