package io.pointsman.it;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.StartException;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
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
class SecureClientsTest {
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
