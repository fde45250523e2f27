package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.HealthSettings;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The prober with engines on sockets. */
@Timeout(60)
class ProberTest {
  private static final ProbeSettings SETTINGS =
      new ProbeSettings(
          "/health",
          List.of(),
          Duration.ofHours(1),
          Duration.ofSeconds(10),
          Duration.ofMillis(10),
          Duration.ofMillis(50),
          8,
          Duration.ZERO);

  private final Ticker ticker = new SystemTicker();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, ticker);
  private final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  private Prober prober(ProbeSettings settings) {
    Prober prober =
        new Prober(
            fleet,
            settings,
            new EngineClient(EngineKeys.NONE, ticker),
            ticker,
            new ThreadRandomSource());
    opened.add(prober);
    return prober.start();
  }

  private SimEngine engine(String... models) {
    SimEngine engine = SimEngine.start(SimConfig.instant().withModels(models));
    opened.add(engine);
    return engine;
  }

  private static void await(BooleanSupplier condition) {
    Await.until("what is awaited here", condition);
  }

  @Test
  void aNewWorkerIsHealthyAndItsModelsAreKnownAfterItsFirstGoodProbe() {
    SimEngine engine = engine("base", "adapter");
    prober(SETTINGS);
    Worker worker = fleet.add(WorkerSpec.of(engine.url()));
    await(() -> worker.health().healthy());
    assertThat(worker.models()).isEqualTo(Set.of("base", "adapter"));
  }

  @Test
  void configuredModelsWin() {
    SimEngine engine = engine("base");
    prober(SETTINGS);
    Worker worker = fleet.add(WorkerSpec.of(engine.url()).withModels(Set.of("mine")));
    await(() -> worker.health().healthy());
    assertThat(worker.models()).isEqualTo(Set.of("mine"));
  }

  @Test
  void aWorkerThatStartsLateIsFound() {
    SimEngine engine = engine("m");
    engine.stop();
    prober(SETTINGS);
    Worker worker = fleet.add(WorkerSpec.of(engine.url()));
    await(() -> worker.health().status() == HealthState.Status.UNHEALTHY);
    engine.restart();
    await(() -> worker.health().healthy());
  }

  @Test
  void aRefusedConnectionCausesAProbeAndAGoodProbeRestoresTheWorker() {
    SimEngine engine = engine("m");
    Prober prober = prober(SETTINGS);
    Worker worker = fleet.add(WorkerSpec.of(engine.url()));
    await(() -> worker.health().healthy());
    engine.stop();
    lease(worker).failed(Failure.CONNECT);
    prober.suspect(worker);
    await(() -> worker.health().status() == HealthState.Status.UNHEALTHY);
    engine.restart();
    await(() -> worker.health().healthy());
  }

  @Test
  void anEngineWithoutThePathIsUnhealthy() {
    SimEngine engine = engine("m");
    ProbeSettings wrong =
        new ProbeSettings(
            "/no-such-path",
            List.of(),
            SETTINGS.interval(),
            SETTINGS.timeout(),
            SETTINGS.firstRetry(),
            SETTINGS.mostRetry(),
            1,
            Duration.ZERO);
    prober(wrong);
    Worker worker = fleet.add(WorkerSpec.of(engine.url()));
    await(() -> worker.health().status() == HealthState.Status.UNHEALTHY);
    assertThat(worker.models()).isEmpty();
  }

  @Test
  void moreWorkersThanPlacesAreAllProbed() {
    SimEngine engine = engine("m");
    prober(SETTINGS);
    List<WorkerSpec> specs = new ArrayList<>();
    for (int rank = 0; rank < 100; rank++) {
      specs.add(WorkerSpec.of(engine.url()).atRank(rank));
    }
    List<Worker> workers = fleet.addAll(specs);
    await(() -> workers.stream().allMatch(worker -> worker.health().healthy()));
    assertThat(workers).allMatch(worker -> worker.models().equals(Set.of("m")));
  }

  private Worker workerThatWantsAKey() throws IOException {
    return workerThatAnswers(
        exchange -> {
          exchange.sendResponseHeaders(401, -1);
          exchange.close();
        });
  }

  private Worker workerThatAnswers(HttpHandler handler) throws IOException {
    return workerThatAnswers(handler, "");
  }

  private Worker workerThatAnswers(HttpHandler handler, String path) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    server.createContext("/", handler);
    server.start();
    opened.add(() -> server.stop(0));
    return fleet.add(WorkerSpec.of("http://127.0.0.1:" + server.getAddress().getPort() + path));
  }

  @Test
  void aServerThatRequiresAKeyIsHealthyIfItsStatusIsListed() throws IOException {
    prober(accepting(List.of(401)));
    Worker worker = workerThatWantsAKey();
    await(() -> worker.health().healthy());
    assertThat(worker.models()).isEmpty();
  }

  @Test
  void aServerThatRequiresAKeyIsUnhealthyIfItsStatusIsNotListed() throws IOException {
    prober(accepting(List.of(403)));
    Worker worker = workerThatWantsAKey();
    await(() -> worker.health().status() == HealthState.Status.UNHEALTHY);
    assertThat(worker.health().healthy()).isFalse();
  }

  private static String reason(Worker worker) {
    await(() -> worker.health().status() == HealthState.Status.UNHEALTHY);
    return worker.health().reason();
  }

  private HttpHandler answering(Map<String, Integer> statuses) {
    return exchange -> {
      int status = statuses.getOrDefault(exchange.getRequestURI().getPath(), 404);
      exchange.sendResponseHeaders(status, -1);
      exchange.close();
    };
  }

  @Test
  void theReasonNamesTheStatusAndThePath() throws IOException {
    prober(SETTINGS);
    assertThat(reason(workerThatWantsAKey()))
        .startsWith("status 401 of GET /health (expected: 2xx; ")
        .contains("health.api-key");
    assertThat(reason(workerThatAnswers(answering(Map.of("/health", 503)))))
        .isEqualTo("status 503 of GET /health (expected: 2xx)");
  }

  @Test
  void theReasonNamesARefusedConnectionAndAnUnknownName() {
    SimEngine engine = engine("m");
    engine.stop();
    prober(SETTINGS);
    assertThat(reason(fleet.add(WorkerSpec.of(engine.url()))))
        .isEqualTo("no connection to " + WorkerSpec.idOf(engine.url()) + ": Connection refused");
    assertThat(reason(fleet.add(WorkerSpec.of("http://no-such-name.invalid:1"))))
        .contains("no-such-name.invalid")
        .containsAnyOf("not known", "name resolution");
  }

  @Test
  void theReasonNamesTheTimeout() throws IOException {
    prober(probing("/health", List.of(), Duration.ofHours(1), Duration.ofMillis(50)));
    try (ServerSocket silent = new ServerSocket(0, 16, InetAddress.getLoopbackAddress())) {
      Worker worker = fleet.add(WorkerSpec.of("http://127.0.0.1:" + silent.getLocalPort()));
      assertThat(reason(worker))
          .isEqualTo("timed out: no response to GET /health within 50 ms (health.timeout)");
    }
  }

  @Test
  void theReasonNamesAServerThatDoesNotSpeakTls() throws IOException {
    prober(SETTINGS);
    try (ServerSocket plain = new ServerSocket(0, 16, InetAddress.getLoopbackAddress())) {
      Thread.startVirtualThread(() -> refuseAll(plain));
      Worker worker = fleet.add(WorkerSpec.of("https://127.0.0.1:" + plain.getLocalPort()));
      assertThat(reason(worker)).contains("does not speak TLS (expected: an https server");
    }
  }

  /** Answers each connection with 400, as servers without TLS do. */
  private static void refuseAll(ServerSocket server) {
    while (!server.isClosed()) {
      try (Socket client = server.accept()) {
        client.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(US_ASCII));
        client.getInputStream().transferTo(OutputStream.nullOutputStream());
      } catch (IOException _) {
        // The client has gone, or the test has ended.
      }
    }
  }

  @Test
  void aUrlWithAVersionIsProbedWithoutItAndThenWithIt() throws IOException {
    prober(SETTINGS);
    Worker none = workerThatAnswers(answering(Map.of("/health", 401)), "/v1");
    assertThat(reason(none))
        .startsWith("status 401 of GET /health, status 404 of GET /v1/health (expected: 2xx");
    Worker below = workerThatAnswers(answering(Map.of("/v1/health", 200)), "/v1");
    await(() -> below.health().healthy());
    SimEngine engine = engine("m");
    Worker worker = fleet.add(WorkerSpec.of(engine.url() + "/v1"));
    await(() -> worker.health().healthy());
    assertThat(worker.models()).containsExactly("m");
  }

  @Test
  void aWorkerThatSendsPartsOfResponsesStaysHealthyDespiteSlowProbes() throws IOException {
    AtomicInteger unanswered = new AtomicInteger();
    Conduct conduct = new Conduct();
    Worker worker = workerThatIs(conduct);
    prober(
        probing(
            "/health",
            List.of(),
            Duration.ofMillis(20),
            Duration.ofMillis(300))); // a slow test must not look like a silent worker
    await(() -> worker.health().healthy());
    Lease stream = lease(worker);
    conduct.become(
        _ -> {
          unanswered.incrementAndGet();
          beginAnswer(worker);
        });
    await(() -> unanswered.get() > 2 * HealthSettings.DEFAULTS.failureThreshold());
    assertThat(worker.health().status()).isEqualTo(HealthState.Status.HEALTHY);

    int before = unanswered.get();
    conduct.become(
        _ -> {
          unanswered.incrementAndGet();
          stream.progressed();
        });
    await(() -> unanswered.get() - before > 2 * HealthSettings.DEFAULTS.failureThreshold());
    assertThat(worker.health().outages()).isZero();

    conduct.become(_ -> {});
    await(() -> worker.health().status() == HealthState.Status.UNHEALTHY);
    conduct.become(_ -> stream.progressed());
    await(() -> worker.health().healthy());
    stream.ignored();
  }

  @Test
  void aBrokenProbeCountsEvenIfOtherRequestsAreAnswered() throws IOException {
    Conduct conduct = new Conduct();
    Worker worker = workerThatIs(conduct);
    prober(probing("/health", List.of(), Duration.ofMillis(20), SETTINGS.timeout()));
    await(() -> worker.health().healthy());
    conduct.become(
        _ -> {
          beginAnswer(worker);
          throw new IOException("cut off");
        });
    await(() -> worker.health().status() == HealthState.Status.UNHEALTHY);
  }

  private void beginAnswer(Worker worker) {
    Lease begun = worker.tryLease(ticker.nanos(), 1, 0, (_, _) -> {});
    if (begun != null) {
      begun.progressed();
      begun.ignored();
    }
  }

  private Lease lease(Worker worker) {
    return requireNonNull(worker.tryLease(ticker.nanos(), 1, 0, (_, _) -> {}));
  }

  /** The worker's behaviour for probes; initially it answers them. */
  private static final class Conduct {
    private volatile HttpHandler present =
        exchange -> {
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
        };

    void become(HttpHandler next) {
      present = next;
    }
  }

  private Worker workerThatIs(Conduct conduct) throws IOException {
    return workerThatAnswers(exchange -> conduct.present.handle(exchange));
  }

  private static ProbeSettings accepting(List<Integer> alsoGood) {
    return probing("/v1/models", alsoGood, SETTINGS.interval(), SETTINGS.timeout());
  }

  private static ProbeSettings probing(
      String endpoint, List<Integer> alsoGood, Duration interval, Duration timeout) {
    return new ProbeSettings(
        endpoint,
        alsoGood,
        interval,
        timeout,
        SETTINGS.firstRetry(),
        SETTINGS.mostRetry(),
        8,
        Duration.ZERO);
  }
}
