package io.pointsman.server.wiring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.sun.net.httpserver.HttpServer;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.DiscoveryKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.DiscoverySettings.FileSource;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.control.health.FleetJournal;
import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.choice.TokenCounts;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** The embedded engine has the parts of the router's engine. */
@Timeout(120)
class EmbeddedEngineTest {
  private static final Map<String, List<String>> JSON =
      Map.of("content-type", List.of("application/json"));

  private static ConfigValues values() {
    return new ConfigValues().set(FrontKeys.PORT, 0).set(OperationKeys.METRICS_ENABLED, false);
  }

  private static Worker onlyWorker(Fleet fleet) {
    Worker worker = fleet.snapshot().workers().getFirst();
    Await.until("the worker is healthy", () -> worker.health().healthy());
    return worker;
  }

  private static Choice.Leased chosen(EmbeddedEngine engine) {
    byte[] body = "{\"model\":\"m\",\"prompt\":\"hello\"}".getBytes(UTF_8);
    RoutingRequest request = engine.read("POST", "/v1/completions", JSON, body);
    return (Choice.Leased) engine.choices().choose(request, Duration.ofMinutes(10));
  }

  @Test
  void changesOfWorkersAreLogged() {
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    Logger journal = (Logger) LoggerFactory.getLogger(FleetJournal.class);
    log.list = new CopyOnWriteArrayList<>();
    log.start();
    journal.addAppender(log);
    journal.setLevel(Level.INFO);
    try (SimEngine sim = SimEngine.start(SimConfig.instant().withModels("m"));
        EmbeddedEngine engine =
            EmbeddedEngine.start(
                PointsmanConfig.from(
                    values().set(RoutingKeys.WORKERS, List.of(WorkerSpec.of(sim.url())))))) {
      String message = "worker " + onlyWorker(engine.fleet()) + " is healthy, serves [m]";

      Await.until(
          message,
          () -> log.list.stream().anyMatch(event -> event.getFormattedMessage().equals(message)));
    } finally {
      journal.setLevel(null);
      journal.detachAppender(log);
    }
  }

  @Test
  void podsAreDiscovered() throws Exception {
    Queue<String> paths = new ConcurrentLinkedQueue<>();
    HttpServer cluster =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    cluster.createContext(
        "/",
        exchange -> {
          paths.add(exchange.getRequestURI().getPath());
          exchange.sendResponseHeaders(404, -1);
          exchange.close();
        });
    cluster.start();
    ConfigValues values =
        values()
            .set(KubernetesKeys.SELECTOR, PodSelector.of(Map.of("app", "vllm")))
            .set(KubernetesKeys.NAMESPACE, "engines")
            .set(KubernetesKeys.URL, "http://127.0.0.1:" + cluster.getAddress().getPort());
    try (EmbeddedEngine engine = EmbeddedEngine.start(PointsmanConfig.from(values))) {
      assertThat(engine.fleet().snapshot().workers()).isEmpty();
      Await.until(
          "the pods were requested", () -> paths.contains("/api/v1/namespaces/engines/pods"));
    } finally {
      cluster.stop(0);
    }
  }

  @Test
  void workersOfAFileAreUsed(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("workers.json");
    try (SimEngine sim = SimEngine.start(SimConfig.instant().withModels("m"))) {
      Files.writeString(file, "[{\"url\": \"" + sim.url() + "\"}]");
      ConfigValues values =
          values().set(DiscoveryKeys.FILE, new FileSource(file.toString(), Duration.ofMillis(100)));
      try (EmbeddedEngine engine = EmbeddedEngine.start(PointsmanConfig.from(values))) {
        Await.until("a worker", () -> !engine.fleet().snapshot().workers().isEmpty());
        onlyWorker(engine.fleet());
        Files.writeString(file, "[]");
        Await.until("no worker", () -> engine.fleet().snapshot().workers().isEmpty());
      }
    }
  }

  @Test
  void placementsAreCaptured(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("trace.jsonl");
    try (SimEngine sim = SimEngine.start(SimConfig.instant().withModels("m"));
        EmbeddedEngine engine =
            EmbeddedEngine.start(
                PointsmanConfig.from(
                    values()
                        .set(OperationKeys.CAPTURE_FILE, file.toString())
                        .set(RoutingKeys.WORKERS, List.of(WorkerSpec.of(sim.url())))))) {
      onlyWorker(engine.fleet());
      engine.choices().settle(chosen(engine).lease(), Outcome.SUCCEEDED, TokenCounts.NONE);
    }
    assertThat(Files.readString(file)).contains("\"model\":\"m\"");
  }

  @Test
  void tooManyWorkersAreReportedAsByTheRouter() {
    PointsmanConfig config =
        PointsmanConfig.from(
            values()
                .set(FleetKeys.MAX_WORKERS, 1)
                .set(
                    RoutingKeys.WORKERS,
                    List.of(
                        WorkerSpec.of("http://127.0.0.1:1"), WorkerSpec.of("http://127.0.0.1:2"))));
    for (Runnable start :
        List.<Runnable>of(() -> EmbeddedEngine.start(config), () -> Router.start(config, "test"))) {
      assertThatThrownBy(start::run)
          .isInstanceOf(StartException.class)
          .hasMessage("workers: 2 (expected: at most 1, max-workers)");
    }
  }

  /** Records the parts that it is created with. */
  public static final class RecordingPolicy implements Policy {
    private static final Queue<PolicyParts> RECORDED = new ConcurrentLinkedQueue<>();
    private final PolicyParts parts;

    public RecordingPolicy(PolicyParts parts) {
      this.parts = parts;
      RECORDED.add(parts);
    }

    @Override
    public Picker picker(Pool pool) {
      return Policies.create("round_robin", parts).policy().picker(pool);
    }
  }

  @Test
  void policiesGetTheSameParts() {
    PointsmanConfig config =
        PointsmanConfig.from(values().set(RoutingKeys.POLICY, RecordingPolicy.class.getName()));
    Router.start(config, "test").close();
    EmbeddedEngine.start(config).close();

    PolicyParts router = RecordingPolicy.RECORDED.remove();
    PolicyParts engine = RecordingPolicy.RECORDED.remove();
    assertThat(engine.settings()).isEqualTo(router.settings());
    assertThat(engine.slots()).isEqualTo(router.slots());
    assertThat(engine.largePages().getClass()).isEqualTo(router.largePages().getClass());
    assertThat(engine.acts()).isEqualTo(router.acts());
  }
}
