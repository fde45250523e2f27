package io.pointsman.it.fault;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.compat.productionstack.ProductionStackLauncher;
import io.pointsman.compat.rayserve.RayServeFile;
import io.pointsman.compat.vllmrouter.VllmRouterLauncher;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.RefusedPort;
import io.pointsman.testkit.engine.ScriptedEngine;
import io.pointsman.tool.sim.FreePorts;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests while no worker is available: they wait, or get a clear answer. */
@Timeout(180)
final class NoWorkerTest {
  private static final String MODEL = "m";
  private static final EngineScript ENGINE = new Faults.Healthy(MODEL, Faults.Answer.ok());

  /** Longer than any wait of a test. */
  private static final String LONG = "10m";

  private static final String AWAITING = "pointsman_requests_awaiting_worker";
  private static final String WITHOUT = "pointsman_requests_without_worker_total";
  private static final String OF_MODEL = "model=\"m\"";

  private final Deque<AutoCloseable> opened = new ArrayDeque<>();

  @SuppressWarnings("NullAway.Init") // each test starts one
  private RunningRouter router;

  @TempDir Path directory;

  enum Launcher {
    SERVE,
    VLLM_ROUTER,
    PRODUCTION_STACK,
    RAY_SERVE
  }

  @AfterEach
  void close() throws Exception {
    if (router != null) {
      WaitFor.until("nothing is in flight", WaitFor.LONG, () -> router.running() == 0);
      assertThat(router.metric(AWAITING, "")).isZero();
      assertThat(router.workers()).allMatch(worker -> worker.inFlight() == 0);
      router.close();
    }
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private <T extends AutoCloseable> T opened(T each) {
    opened.push(each);
    return each;
  }

  private PointsmanConfig config(Launcher launcher, String url) throws IOException {
    ConfigValues values =
        switch (launcher) {
          case SERVE -> YamlConfig.parse("test", yaml(url, "defer-without-worker: " + LONG));
          case VLLM_ROUTER ->
              VllmRouterLauncher.translate(
                  List.of(
                      "--worker-urls",
                      url,
                      "--port",
                      "0",
                      "--prometheus-port",
                      "0",
                      "--defer-without-worker",
                      LONG),
                  Map.of());
          case PRODUCTION_STACK ->
              ProductionStackLauncher.translate(
                  List.of(
                      "--service-discovery",
                      "static",
                      "--static-backends",
                      url,
                      "--static-models",
                      MODEL,
                      "--port",
                      "0",
                      "--routing-logic",
                      "roundrobin",
                      "--defer-without-worker",
                      LONG),
                  Map.of());
          case RAY_SERVE -> rayServe(url);
        };
    values.set(OperationKeys.METRICS_PORT, 0);
    return PointsmanConfig.from(values);
  }

  private ConfigValues rayServe(String url) throws IOException {
    Path file = directory.resolve("serve.yaml");
    Files.writeString(
        file,
        """
        http_options: {host: 127.0.0.1, port: 0}
        applications:
        - import_path: ray.serve.llm:build_openai_app
          args:
            llm_configs:
            - model_loading_config: {model_id: m}
              workers: ["%s"]
        """
            .formatted(url));
    ConfigValues values = RayServeFile.read(file, Map.of(), new ConfigValues()).values();
    values.set(QueueKeys.DEFER_WITHOUT_WORKER, Duration.ofMinutes(10));
    return values;
  }

  private static String yaml(String workers, String queue) {
    return "workers: [%s]\nlisten: {port: 0}\nmetrics: {port: 0}\nlog: {level: warn}\nqueue: {%s}\n"
        .formatted(workers, queue);
  }

  private void start(String workers, String queue, String more) {
    router = RunningRouter.start(yaml(workers, queue) + more);
  }

  private CompletableFuture<HttpAnswer> ask(boolean stream) {
    return ask(MODEL, stream);
  }

  private CompletableFuture<HttpAnswer> ask(String model, boolean stream) {
    String body =
        "{\"model\":\"%s\",\"prompt\":\"%s\",\"max_tokens\":2,\"stream\":%s}"
            .formatted(model, "word ".repeat(400), stream);
    int port = router.port();
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return RawClient.call(port, "POST", "/v1/completions", body);
          } catch (IOException e) {
            throw new CompletionException(e);
          }
        },
        Executors.newVirtualThreadPerTaskExecutor());
  }

  private static HttpAnswer answer(CompletableFuture<HttpAnswer> asked) throws Exception {
    return asked.get(60, TimeUnit.SECONDS);
  }

  private void awaitWaiting(int count) {
    WaitFor.until(
        () -> "requests wait: " + router.metric(AWAITING, ""),
        WaitFor.LONG,
        () -> router.metric(AWAITING, "") == count);
  }

  @ParameterizedTest
  @EnumSource(Launcher.class)
  void requestsWaitForTheOnlyWorker(Launcher launcher) throws Exception {
    try (RefusedPort port = RefusedPort.openShared()) {
      router = RunningRouter.of(config(launcher, "http://127.0.0.1:" + port.port()));
      CompletableFuture<HttpAnswer> whole = ask(false);
      CompletableFuture<HttpAnswer> streamed = ask(true);
      awaitWaiting(2);
      assertThat(router.metric(WITHOUT, "")).isEqualTo(2);
      opened(ScriptedEngine.start(ENGINE, port.port()));
      assertThat(answer(whole).status()).isEqualTo(200);
      assertThat(answer(streamed).status()).isEqualTo(200);
      assertThat(router.metric("pointsman_rejects_total", "")).isZero();
    }
  }

  @Test
  void requestsWaitForAWorkerThatIsAdded() throws Exception {
    start("", "defer-without-worker: " + LONG, "expected-models: [m]\n");
    assertThat(RawClient.call(router.port(), "GET", "/readiness", "").status()).isEqualTo(200);
    CompletableFuture<HttpAnswer> asked = ask(false);
    awaitWaiting(1);
    assertThat(router.metric(AWAITING, OF_MODEL)).isEqualTo(1);
    ScriptedEngine engine = opened(ScriptedEngine.start(ENGINE));
    String added = "/add_worker?url=" + engine.url();
    assertThat(RawClient.call(router.port(), "POST", added, "").status()).isEqualTo(200);
    assertThat(answer(asked).status()).isEqualTo(200);
  }

  @Test
  void aRequestThatNoWorkerHasSeenWaitsForTheRestart() throws Exception {
    ScriptedEngine engine = opened(ScriptedEngine.start(ENGINE));
    start(engine.url(), "defer-without-worker: " + LONG, "health: {interval: 1h}\n");
    WaitFor.until("healthy", WaitFor.LONG, router::allHealthy);
    engine.stopListening();
    CompletableFuture<HttpAnswer> asked = ask(false);
    awaitWaiting(1);
    engine.listenAgain();
    assertThat(answer(asked).status()).isEqualTo(200);
  }

  @Test
  void aRequestThatAWorkerMayHaveSeenDoesNotWait() throws Exception {
    ScriptedEngine engine = opened(ScriptedEngine.start(ENGINE));
    start(
        engine.url(),
        "defer-without-worker: " + LONG,
        "health: {interval: 1h}\nbreaker: {enabled: false}\n");
    WaitFor.until("healthy", WaitFor.LONG, router::allHealthy);
    engine.now(
        new Faults.Healthy(
            MODEL,
            (_, connection) -> {
              engineGoes(engine);
              connection.reset();
            }));
    assertThat(answer(ask(false)).status()).isEqualTo(502);
  }

  private static void engineGoes(ScriptedEngine engine) {
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                engine.stopListening();
              } catch (IOException e) {
                throw new AssertionError(e);
              }
            });
  }

  @ParameterizedTest
  @ValueSource(strings = {"defer-without-worker: 0s", "defer-without-worker: 50ms", ""})
  void afterTheTimeClientsGetRetryAfter(String queue) throws Exception {
    try (RefusedPort port = RefusedPort.openShared()) {
      start("http://127.0.0.1:" + port.port(), queue, "expected-models: [m]\n");
      HttpAnswer answer = answer(ask(false));
      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.header("retry-after")).isNotNull();
      assertThat(router.metric(WITHOUT, OF_MODEL)).isEqualTo(1);
      boolean held = queue.contains("50ms");
      assertThat(RawClient.call(router.port(), "GET", "/readiness", "").status())
          .isEqualTo(held ? 200 : 503);
    }
  }

  /** An API with a Deployment without pods. It answers lists, and refuses watches. */
  private HttpServer cluster() throws IOException {
    HttpServer api =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    opened.push(() -> api.stop(0));
    api.createContext(
        "/",
        exchange -> {
          boolean deployments = exchange.getRequestURI().getPath().endsWith("/deployments");
          boolean list = !exchange.getRequestURI().toString().contains("watch=true");
          String items =
              """
              {"metadata": {"name": "d", "namespace": "a",
                "annotations": {"pointsman.io/model": "m"}}, "spec": {"replicas": 0}}\
              """;
          byte[] body =
              """
              {"metadata": {"resourceVersion": "1"}, "items": [%s]}
              """
                  .formatted(deployments ? items : "")
                  .getBytes(UTF_8);
          exchange.getResponseHeaders().set("content-type", "application/json");
          exchange.sendResponseHeaders(list ? 200 : 404, list ? body.length : -1);
          if (list) {
            exchange.getResponseBody().write(body);
          }
          exchange.close();
        });
    api.start();
    return api;
  }

  @Test
  void aModelOfADeploymentWithoutPodsIsExpected() throws Exception {
    ScriptedEngine other =
        opened(ScriptedEngine.start(new Faults.Healthy("other", Faults.Answer.ok())));
    String api = "http://127.0.0.1:" + cluster().getAddress().getPort();
    start(
        other.url(),
        "defer-without-worker: " + LONG,
        "kubernetes: {selector: [app=vllm], namespace: a, expect-models: true, url: \""
            + api
            + "\"}\n");
    WaitFor.until("healthy", WaitFor.LONG, router::allHealthy);
    AtomicReference<CompletableFuture<HttpAnswer>> asked = new AtomicReference<>(ask(false));
    WaitFor.until(
        "a request waits",
        WaitFor.LONG,
        () -> {
          if (asked.get().isDone()) {
            asked.set(ask(false)); // 404 until the Deployment is known
          }
          return router.metric(AWAITING, OF_MODEL) == 1;
        });
    ScriptedEngine engine = opened(ScriptedEngine.start(ENGINE));
    RawClient.call(router.port(), "POST", "/add_worker?url=" + engine.url(), "");
    assertThat(answer(asked.get()).status()).isEqualTo(200);
    assertThat(router.metric(WITHOUT, OF_MODEL)).isGreaterThanOrEqualTo(1);
  }

  @Test
  void theNumberOfWaitingRequestsIsBounded() throws Exception {
    start("", "defer-without-worker: " + LONG, "limits: {queue-size: 3}\n");
    List<CompletableFuture<HttpAnswer>> waiting = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      waiting.add(ask(false));
      awaitWaiting(i + 1);
    }
    assertThat(answer(ask(false)).status()).isEqualTo(503);
    ScriptedEngine engine = opened(ScriptedEngine.start(ENGINE));
    RawClient.call(router.port(), "POST", "/add_worker?url=" + engine.url(), "");
    for (CompletableFuture<HttpAnswer> each : waiting) {
      assertThat(answer(each).status()).isEqualTo(200);
    }
  }

  @Test
  void aClientThatLeavesGivesItsPlaceBack() throws Exception {
    start("", "defer-without-worker: " + LONG, "limits: {queue-size: 1}\n");
    for (int i = 0; i < 3; i++) {
      try (RawClient client = RawClient.connect(router.port())) {
        client.send("POST", "/v1/completions", "{\"model\":\"m\",\"prompt\":\"p\"}");
        awaitWaiting(1);
      }
      awaitWaiting(0);
    }
  }

  @Test
  void anExpectedModelIsNotUnknown() throws Exception {
    ScriptedEngine other =
        opened(ScriptedEngine.start(new Faults.Healthy("other", Faults.Answer.ok())));
    start(other.url(), "", "expected-models: [m]\n");
    WaitFor.until("healthy", WaitFor.LONG, router::allHealthy);
    assertThat(answer(ask("unknown", false)).status()).isEqualTo(404);
    HttpAnswer expected = answer(ask(false));
    assertThat(expected.status()).isEqualTo(503);
    assertThat(expected.text()).contains("none_available");
    assertThat(expected.header("retry-after")).isNotNull();
    assertThat(answer(ask(MODEL + ":adapter", false)).status()).isEqualTo(503);
    assertThat(router.metric(WITHOUT, OF_MODEL)).isEqualTo(1);
  }

  /** Prefill and decode workers that come one after the other. */
  @Test
  void requestsWaitForBothWorkersOfAPair() throws Exception {
    int prefill = FreePorts.next();
    int decode = FreePorts.next();
    start(
        "{url: 'http://127.0.0.1:%d', role: prefill}, {url: 'http://127.0.0.1:%d', role: decode}"
            .formatted(prefill, decode),
        "defer-without-worker: " + LONG,
        "disaggregation: {protocol: nixl, decode-can-prefill: false}\n");
    CompletableFuture<HttpAnswer> whole = ask("sim", false);
    CompletableFuture<HttpAnswer> streamed = ask("sim", true);
    awaitWaiting(2);
    start(KvRole.DECODE, decode);
    WaitFor.until(
        "decode is healthy",
        WaitFor.LONG,
        () -> router.workers().stream().anyMatch(worker -> worker.health().healthy()));
    awaitWaiting(2);
    start(KvRole.PREFILL, prefill);
    assertThat(answer(whole).status()).isEqualTo(200);
    assertThat(answer(streamed).status()).isEqualTo(200);
  }

  private void start(KvRole role, int port) {
    KvOptions options = KvOptions.of(role, KvConnector.NIXL);
    opened(
        SimEngine.start(
            SimConfig.instant()
                .withModels("sim")
                .withScaleOut(true)
                .withPort(port)
                .withKv(options)));
  }
}
