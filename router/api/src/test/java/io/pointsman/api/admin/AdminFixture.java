package io.pointsman.api.admin;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.settings.AdminSettings;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.names.WorkerOrigins;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionTable;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The router's own endpoints over a configurable fleet, without sockets. */
final class AdminFixture {
  final FakeClock clock = new FakeClock();
  final Fleet fleet = new Fleet(FleetSettings.DEFAULTS.withoutEjectionLimit(), clock::nanos);
  Map<String, String> aliases = Map.of();
  final ModelCards cards = new ModelCards(fleet);
  final PolicySetup policy =
      Policies.create(
          "sticky_least_loaded",
          new PolicyParts(
              clock::nanos,
              ScriptedRandomSource.seeded(1)::roll,
              FleetSettings.DEFAULTS.maxWorkers(),
              PolicySettings.DEFAULTS));
  final SessionTable sessions = requireNonNull(policy.sessions());

  /** URLs of engines that pass their next probe. */
  final Set<String> up = ConcurrentHashMap.newKeySet();

  /** Status of engine responses by URL with path; all others are 404. */
  final Map<String, Integer> engineStatus = new ConcurrentHashMap<>();

  /** Requests to engines. */
  final Set<String> asked = ConcurrentHashMap.newKeySet();

  boolean draining;

  /** True if requests wait for a worker; may change, as the configuration. */
  boolean defers;

  private Runnable atPause = () -> {};
  private final LocalRoutes routes;

  AdminFixture() {
    this(1);
  }

  AdminFixture(int dataParallelSize) {
    this(dataParallelSize, DisaggSettings.DEFAULTS);
  }

  AdminFixture(int dataParallelSize, DisaggSettings disagg) {
    this(dataParallelSize, disagg, WorkerOrigins.ANY);
  }

  AdminFixture(int dataParallelSize, DisaggSettings disagg, WorkerOrigins origins) {
    this(dataParallelSize, disagg, origins, HealthAnswer.ALL);
  }

  AdminFixture(int dataParallelSize, DisaggSettings disagg, HealthAnswer answer) {
    this(dataParallelSize, disagg, WorkerOrigins.ANY, answer);
  }

  private AdminFixture(
      int dataParallelSize, DisaggSettings disagg, WorkerOrigins origins, HealthAnswer answer) {
    AdminSettings settings =
        new AdminSettings(
            true,
            Duration.ofSeconds(10),
            dataParallelSize,
            true,
            answer,
            List.of(),
            "llm_app",
            Duration.ofMinutes(1));
    Membership membership =
        new Membership(fleet, settings, disagg, clock::nanos, this::pass, origins);
    LocalRoutes.Builder builder = LocalRoutes.builder();
    WorkersApi workers = new WorkersApi(fleet, membership, clock::nanos);
    workers.addTo(builder);
    new CordonApi(fleet, workers, clock::nanos, this::pass).addTo(builder);
    new HealthApi(
            fleet, membership, settings::healthAnswer, () -> disagg, () -> draining, () -> defers)
        .addTo(builder);
    new RayProxyApi(fleet, settings.rayApplication(), () -> draining).addTo(builder);
    new ModelsApi(cards, () -> aliases).addTo(builder);
    new MaintenanceApi(fleet, (_, method, url, _, _) -> call(method, url), () -> List.of(sessions))
        .addTo(builder);
    routes = builder.build();
  }

  /** Advances the clock and reports good probes of running engines. */
  private void pass(Duration time) {
    clock.advance(time);
    atPause.run();
    for (Worker worker : fleet.snapshot().workers()) {
      if (up.contains(worker.spec().url())) {
        worker.probed(true);
      }
    }
  }

  /** Runs {@code action} each time that an endpoint waits. */
  void atPause(Runnable action) {
    atPause = action;
  }

  private EngineClient.Answer call(String method, String url) {
    asked.add(method + " " + url);
    return new EngineClient.Answer(engineStatus.getOrDefault(url, 404), new byte[0]);
  }

  Worker healthyWorker(String url, String... models) {
    Worker worker = fleet.add(WorkerSpec.of(url).withModels(Set.of(models)));
    worker.probed(true);
    return worker;
  }

  /** True if pages of any origin may use the path, where the configuration allows that. */
  boolean forAnyOrigin(String path) {
    return requireNonNull(routes.at(path), path).forAnyOrigin();
  }

  LocalResponse get(String target) throws Exception {
    return send("GET", target, "");
  }

  LocalResponse get(String path, ClientIdentity client) throws Exception {
    LocalEndpoint endpoint = requireNonNull(routes.at(path), path).forMethod("GET");
    return requireNonNull(endpoint, path)
        .handle(new LocalRequest("GET", path, "", Map.of(), new byte[0], "req-1").of(client));
  }

  /**
   * @param headers by lower-case name
   */
  LocalResponse get(String path, Map<String, List<String>> headers) throws Exception {
    LocalEndpoint endpoint = requireNonNull(routes.at(path), path).forMethod("GET");
    return requireNonNull(endpoint, path)
        .handle(new LocalRequest("GET", path, "", headers, new byte[0], "req-1"));
  }

  LocalResponse post(String target) throws Exception {
    return send("POST", target, "");
  }

  LocalResponse send(String method, String target, String body) throws Exception {
    int question = target.indexOf('?');
    String path = question < 0 ? target : target.substring(0, question);
    LocalEndpoint endpoint = requireNonNull(routes.at(path), path).forMethod(method);
    return requireNonNull(endpoint, method)
        .handle(
            new LocalRequest(
                method,
                path,
                question < 0 ? "" : target.substring(question + 1),
                Map.of(),
                body.getBytes(StandardCharsets.UTF_8),
                "req-1"));
  }

  static String text(LocalResponse response) {
    return new String(response.body(), StandardCharsets.UTF_8);
  }

  static JsonNode json(LocalResponse response) throws JsonProcessingException {
    return new ObjectMapper().readTree(text(response));
  }
}
