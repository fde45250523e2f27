package io.pointsman.server.compat;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.pointsman.compat.productionstack.ProductionStackLauncher;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.server.wiring.Router;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.RefusedPort;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A router started with the stack's flags, tested as clients and probes use it. */
@Timeout(60)
class StackRouterTest {
  private final HttpClient http = HttpClient.newHttpClient();
  private final List<AutoCloseable> opened = new ArrayList<>();

  /** Requests to engines, without probes. */
  private final Queue<String> asked = new ConcurrentLinkedQueue<>();

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
    http.shutdownNow();
  }

  private String engine() throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    server.createContext("/health", exchange -> answer(exchange, 200));
    server.createContext(
        "/",
        exchange -> {
          asked.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
          answer(exchange, 404);
        });
    server.start();
    opened.add(() -> server.stop(0));
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** An engine with only one path. */
  private String withoutHealth() throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    server.createContext("/v1/completions", exchange -> answer(exchange, 200, "served"));
    server.start();
    opened.add(() -> server.stop(0));
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** An engine that requires a key except for its health, and answers requests with its model. */
  private String keyed(String key, String model) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    server.createContext("/health", exchange -> answer(exchange, 200));
    server.createContext(
        "/v1/models",
        exchange -> {
          boolean known = ("Bearer " + key).equals(authorization(exchange));
          answer(exchange, known ? 200 : 401, "{\"data\":[{\"id\":\"" + model + "\"}]}");
        });
    server.createContext(
        "/v1/completions",
        exchange -> answer(exchange, 200, model + " for " + authorization(exchange)));
    server.start();
    opened.add(() -> server.stop(0));
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private static String authorization(HttpExchange exchange) {
    return String.valueOf(exchange.getRequestHeaders().getFirst("authorization"));
  }

  private static void answer(HttpExchange exchange, int status) throws IOException {
    exchange.getRequestBody().readAllBytes();
    exchange.sendResponseHeaders(status, -1);
    exchange.close();
  }

  private static void answer(HttpExchange exchange, int status, String text) throws IOException {
    exchange.getRequestBody().readAllBytes();
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  private Router router(String... urls) {
    List<String> args =
        List.of(
            "--host=127.0.0.1",
            "--service-discovery=static",
            "--routing-logic=roundrobin",
            "--static-backends=" + String.join(",", urls),
            "--static-models=m" + ",m".repeat(urls.length - 1));
    return started(ProductionStackLauncher.translate(args, Map.of()));
  }

  private Router started(ConfigValues values) {
    values.set(FrontKeys.PORT, 0);
    Router router = Router.start(PointsmanConfig.from(values), "test");
    opened.add(router);
    return router;
  }

  private HttpResponse<String> send(Router router, String method, String target)
      throws IOException, InterruptedException {
    return send(router.url(), method, target);
  }

  private HttpResponse<String> send(String base, String method, String target)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(base + target))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
  }

  private static Worker worker(Router router, String url) {
    return router.fleet().snapshot().workers().stream()
        .filter(each -> each.spec().url().equals(url))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void itIsHealthyEvenIfItsEnginesAreNot() throws Exception {
    String good = engine();
    RefusedPort refused = RefusedPort.open();
    opened.add(refused);
    Router router = router(good, refused.url());
    assertThat(send(router, "GET", "/health").statusCode()).isEqualTo(200);

    Await.until("the good one is found well", () -> worker(router, good).health().healthy());

    HttpResponse<String> health = send(router, "GET", "/health");
    assertThat(health.statusCode()).isEqualTo(200);
    assertThat(health.body()).isEqualTo("{\"status\":\"healthy\"}");
    assertThat(send(router, "GET", "/readiness").statusCode()).isEqualTo(200);
  }

  @Test
  void clientsCannotChangeItsEngines() throws Exception {
    String good = engine();
    Router router = router(good);
    Await.until("the engine is found well", () -> worker(router, good).health().healthy());

    assertThat(send(router, "POST", "/add_worker?url=http://127.0.0.1:1").statusCode())
        .isEqualTo(404);
    assertThat(send(router, "POST", "/remove_worker?url=" + good).statusCode()).isEqualTo(404);
    assertThat(send(router, "POST", "/workers").statusCode()).isEqualTo(404);
    assertThat(send(router, "DELETE", "/workers/" + WorkerSpec.idOf(good)).statusCode())
        .isEqualTo(404);
    assertThat(send(router, "GET", "/workers").statusCode()).isEqualTo(404);
    HttpResponse<String> list = send(router.adminUrl(), "GET", "/workers");
    assertThat(list.statusCode()).isEqualTo(200);
    assertThat(list.body())
        .isEqualTo(
            "{\"workers\":[{\"url\":\"%s\",\"worker_type\":\"regular\",\"is_healthy\":true,"
                    .formatted(good)
                + "\"id\":\"%s\",\"draining\":false,\"asleep\":false,\"reason\":\"\"}]}"
                    .formatted(WorkerSpec.idOf(good)));

    assertThat(router.fleet().snapshot().workers())
        .extracting(each -> each.spec().url())
        .containsExactly(good);
  }

  @Test
  void sleepOfOneEngineReachesNoOther() throws Exception {
    String one = engine();
    String other = engine();
    Router router = router(one, other);
    Await.until(
        "both are found well",
        () -> worker(router, one).health().healthy() && worker(router, other).health().healthy());

    HttpResponse<String> refused = send(router, "POST", "/sleep?id=x&level=1");

    assertThat(refused.statusCode()).isEqualTo(404);
    assertThat(refused.body()).contains("admin_path");
    assertThat(send(router, "POST", "/wake_up?id=x").statusCode()).isEqualTo(404);
    assertThat(send(router, "GET", "/is_sleeping?id=x").statusCode()).isEqualTo(404);
    // Probes ask engines if they sleep.
    assertThat(asked)
        .filteredOn(request -> !request.equals("GET /is_sleeping"))
        .noneMatch(request -> request.contains("sleep") || request.contains("wake_up"));
  }

  @Test
  void aPauseReachesNoEngine() throws Exception {
    Router router = router(engine());

    for (String path : List.of("/pause", "/abort_requests", "/v1/load_lora_adapter")) {
      assertThat(send(router, "POST", path).statusCode()).as(path).isEqualTo(501);
    }
    assertThat(asked).noneMatch(request -> request.startsWith("POST"));
  }

  @Test
  void itsMetricsAreOnTheClientPort() throws Exception {
    String good = engine();
    Router router = router(good);
    Await.until("the engine is found well", () -> worker(router, good).health().healthy());

    HttpResponse<String> page = send(router, "GET", "/metrics");

    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(page.headers().firstValue("content-type").orElse("")).startsWith("text/plain");
    assertThat(page.body())
        .contains("vllm:healthy_pods_total{server=\"" + good + "\"} 1.0")
        .contains("vllm:num_requests_running{server=\"" + good + "\"} 0.0")
        .contains("vllm:num_incoming_requests_total{model=\"m\"} 0.0")
        .contains("pointsman_build_info");
    assertThat(asked).noneMatch(request -> request.contains("/metrics"));
  }

  @Test
  void aListedEngineWithoutHealthIsUsed() throws Exception {
    String bare = withoutHealth();
    Router router = router(bare);
    Await.until("it is found well", () -> worker(router, bare).health().healthy());

    assertThat(complete(router, "m", "")).isEqualTo("served");
  }

  @Test
  void twoRoutersRunOnOneHost() throws Exception {
    String good = engine();
    assertThat(send(router(good), "GET", "/metrics").statusCode()).isEqualTo(200);
    assertThat(send(router(good), "GET", "/metrics").statusCode()).isEqualTo(200);
  }

  @Test
  void modelsOfEnginesWithAKeyAreReadWithThatKey() throws Exception {
    List<String> args =
        List.of(
            "--host=127.0.0.1",
            "--routing-logic=roundrobin",
            "--service-discovery=k8s",
            "--k8s-label-selector=a=b");
    ConfigValues values =
        ProductionStackLauncher.translate(args, Map.of("VLLM_API_KEY", "engines-key"));
    // Stand-ins for pods: engines without configured models.
    KubernetesKeys.findNone(values, KubernetesKeys.SELECTOR);
    List<WorkerSpec> pods =
        List.of(WorkerSpec.of(keyed("engines-key", "m")), WorkerSpec.of(keyed("engines-key", "n")));
    Router router = started(values.set(RoutingKeys.WORKERS, pods));
    Await.until(
        "both are found well, and what they serve",
        () ->
            router.fleet().snapshot().workers().stream().allMatch(each -> each.health().healthy()));

    // Grouped by model: alternating requests would match the engines by round robin alone.
    for (int i = 0; i < 3; i++) {
      assertThat(complete(router, "m", "Bearer of-a-client")).isEqualTo("m for Bearer of-a-client");
    }
    for (int i = 0; i < 3; i++) {
      assertThat(complete(router, "n", "")).isEqualTo("n for null");
    }
  }

  private String complete(Router router, String model, String authorization)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(router.url() + "/v1/completions"))
            .header("content-type", "application/json")
            .POST(
                HttpRequest.BodyPublishers.ofString(
                    "{\"model\":\"" + model + "\",\"prompt\":\"hi\"}"));
    if (!authorization.isEmpty()) {
      request.header("authorization", authorization);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString()).body();
  }
}
