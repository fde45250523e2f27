package io.pointsman.it;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import io.pointsman.server.wiring.StartException;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Engines behind {@code https} with certificates of private CAs: probes and requests. */
@Timeout(120)
class EncryptedEnginesTest {
  private static final String PORTS =
      "listen: {port: 0}\nmetrics: {port: 0}\nlog: {level: error}\n";

  @TempDir private static Path directory = Path.of(".");
  private static @Nullable TestCertificate local;
  private static @Nullable TestCertificate named;
  private static @Nullable TestCertificate router;

  @BeforeAll
  static void makeCertificates() throws Exception {
    local = TestCertificate.make(directory, "local", "dns:localhost");
    named = TestCertificate.make(directory, "named", "dns:engine.example");
    router = TestCertificate.make(directory, "router", "dns:router");
  }

  private static ScriptedEngine engine(
      @Nullable TestCertificate own, @Nullable TestCertificate client) throws Exception {
    return ScriptedEngine.start(Faults.Answer.ok(), requireNonNull(own).serverSocket(client));
  }

  private static Path file(String name) {
    return directory.resolve(name);
  }

  private static RunningRouter started(String settings, String... workers) {
    return RunningRouter.start(
        PORTS + settings + "\nworkers: [" + String.join(", ", workers) + "]\n");
  }

  private static String worker(ScriptedEngine engine, String host, String keys) {
    return "{url: 'https://%s:%d', models: [m]%s}".formatted(host, engine.port(), keys);
  }

  private static int chat(RunningRouter running) throws Exception {
    return chat(running.port());
  }

  private static int chat(int port) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/chat/completions"))
            .POST(HttpRequest.BodyPublishers.ofString("{\"model\":\"m\",\"messages\":[]}"))
            .build();
    try (HttpClient client = HttpClient.newHttpClient()) {
      return client.send(request, BodyHandlers.ofString()).statusCode();
    }
  }

  private static void serves(RunningRouter running) throws Exception {
    WaitFor.until("all workers are healthy", WaitFor.LONG, running::allHealthy);
    for (Worker _ : running.workers()) {
      assertThat(chat(running)).isEqualTo(200);
    }
  }

  private static String reason(RunningRouter running) {
    HealthState health = running.workers().getFirst().health();
    WaitFor.until(
        "the worker is out", WaitFor.LONG, () -> health.status() == HealthState.Status.UNHEALTHY);
    return health.reason();
  }

  @Test
  void aCaOfTheFileIsTrusted() throws Exception {
    try (ScriptedEngine engine = engine(local, null);
        RunningRouter running =
            started(
                "engine-tls: {ca-file: %s}".formatted(file("local.crt")),
                worker(engine, "localhost", ""))) {
      serves(running);
    }
  }

  @Test
  void aCertificateThatIsNotTrustedIsTheReason() throws Exception {
    try (ScriptedEngine engine = engine(local, null);
        RunningRouter running = started("", worker(engine, "localhost", ""))) {
      assertThat(reason(running))
          .startsWith("TLS: certificate of localhost:" + engine.port() + " not accepted: ")
          .contains("engine-tls.ca-file");
    }
  }

  @Test
  void theCertificateMustHaveTheServersName() throws Exception {
    String settings = "engine-tls: {ca-file: %s".formatted(file("named.crt"));
    try (ScriptedEngine engine = engine(named, null)) {
      String worker = worker(engine, "127.0.0.1", "");
      try (RunningRouter running = started(settings + "}", worker)) {
        assertThat(reason(running)).startsWith("TLS: certificate of 127.0.0.1:");
      }
      try (RunningRouter running = started(settings + ", server-name: engine.example}", worker)) {
        serves(running);
      }
    }
  }

  @Test
  void aWorkersOwnValuesWin() throws Exception {
    try (ScriptedEngine first = engine(local, null);
        ScriptedEngine second = engine(named, null);
        ScriptedEngine third = engine(named, null);
        RunningRouter running =
            started(
                "engine-tls: {ca-file: %s}\npolicy: round_robin".formatted(file("local.crt")),
                worker(first, "localhost", ""),
                worker(
                    second,
                    "127.0.0.1",
                    ", tls-ca-file: %s, tls-server-name: engine.example"
                        .formatted(file("named.crt"))),
                worker(third, "127.0.0.1", ", tls-insecure-skip-verify: true"))) {
      serves(running);
      assertThat(third.requests()).isNotEmpty();
    }
  }

  @Test
  @Tag("full")
  void anEngineCanRequireTheRoutersCertificate() throws Exception {
    String settings =
        "engine-tls: {ca-file: %s, certificate-file: %s, key-file: %s}"
            .formatted(file("local.crt"), file("router.crt"), file("router.key"));
    try (ScriptedEngine engine = engine(local, router)) {
      String worker = worker(engine, "localhost", "");
      try (RunningRouter running = started(settings, worker)) {
        serves(running);
      }
      try (RunningRouter running =
          started("engine-tls: {ca-file: %s}".formatted(file("local.crt")), worker)) {
        assertThat(reason(running)).isNotEmpty();
      }
    }
  }

  @Test
  void aFileThatCannotBeUsedIsRefusedAtTheStart() throws Exception {
    Path none = Files.writeString(file("none.pem"), "no certificate");
    assertThatThrownBy(() -> started("engine-tls: {ca-file: %s}".formatted(none)))
        .isInstanceOf(StartException.class)
        .hasMessageContaining("engine-tls.ca-file: " + none);
    assertThatThrownBy(
            () ->
                started(
                    "engine-tls: {certificate-file: %s, key-file: %s}"
                        .formatted(file("router.crt"), none)))
        .isInstanceOf(StartException.class)
        .hasMessageContaining("PKCS#8");
  }

  private static PointsmanConfig config(String tls, String worker) {
    String yaml =
        PORTS
            + "admin: {port: 0}\nhealth: {first-retry: 10ms, max-retry: 100ms}\n"
            + tls
            + "\nworkers: ["
            + worker
            + "]\n";
    return PointsmanConfig.from(YamlConfig.parse("test", yaml));
  }

  private static String cas(String name) {
    return "engine-tls: {ca-file: %s}".formatted(file(name));
  }

  private static void awaitHealthy(Router running, boolean healthy) {
    WaitFor.until(
        "healthy: " + healthy,
        WaitFor.LONG,
        () ->
            running.fleet().snapshot().workers().getFirst().health().status()
                == (healthy ? HealthState.Status.HEALTHY : HealthState.Status.UNHEALTHY));
  }

  private static int chat(Router running) throws Exception {
    return chat(URI.create(running.url()).getPort());
  }

  @Test
  void aReloadChangesTheTrustedCas() throws Exception {
    Path broken = Files.writeString(file("broken.pem"), "no certificate");
    try (ScriptedEngine engine = engine(local, null)) {
      String worker = worker(engine, "localhost", "");
      PointsmanConfig right = config(cas("local.crt"), worker);
      try (Router running = Router.start(right, "test")) {
        awaitHealthy(running, true);
        assertThat(chat(running)).isEqualTo(200);

        assertThatThrownBy(() -> running.change(right, config(cas("broken.pem"), worker)))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("engine-tls.ca-file: " + broken);
        engine.closeConnections();
        assertThat(chat(running)).isEqualTo(200);

        PointsmanConfig wrong = config(cas("named.crt"), worker);
        running.change(right, wrong);
        engine.closeConnections();
        assertThat(chat(running)).isIn(502, 503);
        awaitHealthy(running, false);

        running.change(wrong, right);
        awaitHealthy(running, true);
        assertThat(chat(running)).isEqualTo(200);
      }
    }
  }

  @Test
  void filesOfTlsAreReadAgain() throws Exception {
    Path ca = Files.copy(file("named.crt"), file("rotated.crt"));
    try (ScriptedEngine engine = engine(local, null);
        Router running =
            Router.start(config(cas("rotated.crt"), worker(engine, "localhost", "")), "test")) {
      awaitHealthy(running, false);
      Files.writeString(ca, "half a cert");
      Files.copy(file("local.crt"), ca, StandardCopyOption.REPLACE_EXISTING);
      awaitHealthy(running, true);
      assertThat(chat(running)).isEqualTo(200);
    }
  }

  @Test
  void aReloadThatFailsKeepsTheCas() throws Exception {
    try (ScriptedEngine engine = engine(local, null)) {
      String worker = worker(engine, "localhost", "");
      PointsmanConfig right = config("max-workers: 1\n" + cas("local.crt"), worker);
      PointsmanConfig tooMany =
          config(
              "max-workers: 1\n" + cas("named.crt"),
              worker + ", 'http://127.0.0.1:1', 'http://127.0.0.1:2'");
      try (Router running = Router.start(right, "test")) {
        awaitHealthy(running, true);
        assertThatThrownBy(() -> running.change(right, tooMany))
            .isInstanceOf(IllegalStateException.class);
        engine.closeConnections();
        assertThat(chat(running)).isEqualTo(200);
      }
    }
  }
}
