package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The whole router over sockets, in front of simulated engines. */
@Timeout(120)
class RouterTest {
  private static final String CHAT =
      "{\"model\":\"m\",\"max_tokens\":4,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

  private static final String IN_USE =
      ": Address already in use (expected: a free port of an address of this machine)";

  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
    http.shutdownNow();
  }

  private Router router(String... urls) {
    return router(_ -> {}, urls);
  }

  private Router router(Consumer<ConfigValues> more, String... urls) {
    ConfigValues values =
        new ConfigValues()
            .set(FrontKeys.PORT, 0)
            .set(OperationKeys.METRICS_PORT, 0)
            .set(AccessKeys.PORT, 0)
            .set(OperationKeys.DRAIN_TIMEOUT, Duration.ofSeconds(20))
            .set(FleetKeys.HEALTH_FIRST_RETRY, Duration.ofMillis(10))
            .set(FleetKeys.HEALTH_MOST_RETRY, Duration.ofMillis(50))
            .set(RoutingKeys.WORKERS, List.of(urls).stream().map(WorkerSpec::of).toList());
    more.accept(values);
    Router router = Router.start(PointsmanConfig.from(values), "test");
    opened.add(router);
    return router;
  }

  private SimEngine engine() {
    SimEngine engine = SimEngine.start(SimConfig.instant().withModels("m"));
    opened.add(engine);
    return engine;
  }

  private HttpResponse<String> get(String url) throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString());
  }

  private HttpResponse<String> chat(Router router) throws IOException, InterruptedException {
    return chat(router, CHAT);
  }

  private HttpResponse<String> chat(Router router, String body)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(router.url() + "/v1/chat/completions"))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }

  private static void await(BooleanSupplier condition) {
    Await.until("what is awaited here", condition);
  }

  private static boolean allHealthy(Router router) {
    return router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy());
  }

  @Test
  void thePortIsOpenBeforeAnyWorkerIsUp() throws Exception {
    SimEngine engine = engine();
    engine.stop();
    Router router = router(engine.url());
    assertThat(get(router.url() + "/liveness").statusCode()).isEqualTo(200);
    assertThat(get(router.url() + "/readiness").statusCode()).isEqualTo(503);
    assertThat(chat(router).statusCode()).isEqualTo(503);
    engine.restart();
    await(() -> allHealthy(router));
    assertThat(get(router.url() + "/readiness").statusCode()).isEqualTo(200);
    assertThat(chat(router).statusCode()).isEqualTo(200);
  }

  @Test
  void aRequestIsServedAndItsLeaseIsSettled() throws Exception {
    SimEngine engine = engine();
    Router router = router(engine.url());
    await(() -> allHealthy(router));
    HttpResponse<String> response = chat(router);
    assertThat(response.statusCode()).isEqualTo(200);
    Worker worker = router.fleet().snapshot().workers().getFirst();
    assertThat(response.headers().firstValue("x-pointsman-worker")).contains(worker.id());
    await(() -> router.inFlight() == 0);
    assertThat(worker.served()).isEqualTo(1);
  }

  @Test
  void metricsAreServedOnTheirOwnListener() throws Exception {
    Router router = router();
    assertThat(router.metricsUrl()).isNotNull();
    HttpResponse<String> page = get(String.valueOf(router.metricsUrl()));
    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(page.body()).contains("pointsman_");
  }

  @Test
  void theMetricsUrlIsValidForAnyAddress() throws Exception {
    Router router = router(values -> values.set(OperationKeys.METRICS_HOST, "::1"));
    assertThat(router.metricsUrl()).startsWith("http://[::1]:");
    assertThat(get(String.valueOf(router.metricsUrl())).statusCode()).isEqualTo(200);
  }

  /** The answers of explained decisions are read for all policies. */
  @ParameterizedTest
  @ValueSource(strings = {"cost", "round_robin", "cache_aware", "consistent_hash"})
  void eachPolicysDecisionsAreMeasured(String policy) throws Exception {
    Router router =
        router(
            values -> values.set(RoutingKeys.POLICY, policy).set(AdminKeys.DECISIONS_SAMPLE, 1.0),
            engine().url());
    await(() -> allHealthy(router));
    String streamed =
        CHAT.replaceFirst("\\{", "{\"stream\":true,\"stream_options\":{\"include_usage\":true},");
    for (String body : List.of(CHAT, streamed)) {
      assertThat(chat(router, body).statusCode()).isEqualTo(200);
      Await.until("counts", () -> measured(router, 0).path("cached_tokens").isNumber());
    }
    assertThat(measured(router, 0).path("ttft_ms").isNumber()).isTrue();
    assertThat(measured(router, 1).path("cached_tokens").isNumber()).isTrue();
  }

  /** The measured values of a decision; 0 is the newest. */
  private JsonNode measured(Router router, int index) {
    try {
      JsonNode decisions = JSON.readTree(get(router.adminUrl() + "/decisions").body());
      return decisions.path("decisions").path(index).path("measured");
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void decisionsAreListedAndMeasured() throws Exception {
    Router router =
        router(
            values -> values.set(RoutingKeys.POLICY, "cost").set(AdminKeys.DECISIONS_SAMPLE, 1.0),
            engine().url(),
            engine().url());
    await(() -> allHealthy(router));
    assertThat(chat(router).statusCode()).isEqualTo(200);
    await(() -> router.inFlight() == 0);

    assertThat(get(router.adminUrl() + "/decisions").body())
        .contains("\"reason\":\"least_cost\"", "\"verdict\":\"chosen\"", "\"never_seen\":");
    assertThat(get(String.valueOf(router.metricsUrl())).body())
        .contains("pointsman_cache_misses_total{reason=\"never_seen\"} 1")
        .contains("pointsman_cost_cache_max_bytes 6.", "pointsman_prefix_index_evictions_total 0")
        .contains("pointsman_hit_prediction_error_ratio_count{side=\"under\"} 1");
  }

  @Test
  void shadowPolicyReportsItsDecisions() throws Exception {
    Router router =
        router(values -> values.set(RoutingKeys.SHADOW_POLICY, "round_robin"), engine().url());
    await(() -> allHealthy(router));
    assertThat(chat(router).statusCode()).isEqualTo(200);
    Await.until(
        "the request is compared",
        () -> body(router.adminUrl() + "/shadow").contains("\"agreed\":1"));

    assertThat(body(router.adminUrl() + "/shadow"))
        .contains("\"policy\":\"cost\"", "\"policy\":\"round_robin\"", "\"failures\":0");
    assertThat(body(String.valueOf(router.metricsUrl())))
        .contains("pointsman_shadow_placements_total{result=\"agreed\"} 1");
  }

  private String body(String url) {
    try {
      return get(url).body();
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static PointsmanConfig config(String yaml, String... urls) {
    return PointsmanConfig.from(
        YamlConfig.parse(
            "test",
            "listen: {port: 0}\nmetrics: {port: 0}\nadmin: {port: 0}\nmax-workers: 2\n"
                + "health: {first-retry: 10ms, max-retry: 50ms}\n"
                + yaml
                + "\nworkers: ['"
                + String.join("', '", urls)
                + "']\n"));
  }

  private Router started(PointsmanConfig config) {
    Router router = Router.start(config, "test");
    opened.add(router);
    return router;
  }

  @Test
  void aChangeOfThePolicyAsksTheEnginesForTheirCache() {
    String url = engine().url();
    PointsmanConfig before = config("policy: round_robin", url);
    Router router = started(before);
    await(() -> allHealthy(router));
    Worker worker = router.fleet().snapshot().workers().getFirst();
    assertThat(worker.kvTokens()).isZero();

    router.change(before, config("policy: cost", url));

    await(() -> worker.kvTokens() > 0);
  }

  @Test
  void readinessFollowsAChangeOfTheQueue() throws Exception {
    PointsmanConfig before = config("policy: random", "http://127.0.0.1:1");
    Router router = started(before);
    assertThat(get(router.adminUrl() + "/readyz").statusCode()).isEqualTo(503);

    router.change(
        before, config("policy: random\nqueue: {defer-without-worker: 1m}", "http://127.0.0.1:1"));

    assertThat(get(router.adminUrl() + "/readyz").statusCode()).isEqualTo(200);
  }

  @Test
  void aRefusedChangeLeavesNoTrace() throws Exception {
    String url = engine().url();
    PointsmanConfig before = config("policy: cache_aware", url);
    Router router = started(before);
    await(() -> allHealthy(router));
    assertThat(chat(router).statusCode()).isEqualTo(200);
    await(() -> body(router.adminUrl() + "/metrics").contains("pointsman_prefix_index_blocks 1"));

    assertThatThrownBy(
            () ->
                router.change(
                    before,
                    config(
                        "policy: cache_aware\ncache: {index-max-bytes: 32MiB}",
                        url,
                        "http://a.test:1",
                        "http://b.test:1")))
        .isInstanceOf(IllegalStateException.class);
    HttpRequest add =
        HttpRequest.newBuilder(URI.create(router.adminUrl() + "/workers"))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString("{\"url\":\"http://a.test:2\"}"))
            .build();
    assertThat(http.send(add, HttpResponse.BodyHandlers.ofString()).statusCode()).isEqualTo(403);

    router.change(before, config("policy: cache_aware\ncache: {threshold: 0.6}", url));
    assertThat(body(router.adminUrl() + "/metrics")).contains("pointsman_prefix_index_blocks 1");
  }

  @Test
  void otherSitesMayLinkToThePageOfDecisions() throws Exception {
    Router router = started(config("policy: random", engine().url()));
    assertThat(linked(router.adminUrl() + "/decisions")).isEqualTo(200);
    assertThat(linked(router.adminUrl() + "/workers")).isEqualTo(403);
  }

  private int linked(String url) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .header("sec-fetch-site", "cross-site")
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document")
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
  }

  @Test
  void everyPolicyStarts() {
    for (String policy : Policies.names()) {
      ConfigValues values =
          new ConfigValues()
              .set(FrontKeys.PORT, 0)
              .set(OperationKeys.METRICS_ENABLED, false)
              .set(RoutingKeys.POLICY, policy);
      try (Router router = Router.start(PointsmanConfig.from(values), "test")) {
        assertThat(router.metricsUrl()).isNull();
      }
    }
  }

  @Test
  void aStoppedRouterHasClosedItsPorts() throws Exception {
    Router router = router(engine().url());
    await(() -> allHealthy(router));
    String url = router.url();
    String metrics = String.valueOf(router.metricsUrl());
    String admin = router.adminUrl();
    assertThat(get(admin + "/liveness").statusCode()).isEqualTo(200);
    router.close();
    assertThatThrownBy(() -> get(admin + "/liveness")).isInstanceOf(ConnectException.class);
    assertThatThrownBy(() -> get(url + "/liveness")).isInstanceOf(ConnectException.class);
    assertThatThrownBy(() -> get(metrics)).isInstanceOf(ConnectException.class);
  }

  @Test
  void anAddressOfAnotherMachineIsReportedWithTheReason() {
    // Addresses for documentation (RFC 5737): no machine has one.
    String reason =
        " 192.0.2.1:0: Cannot assign requested address"
            + " (expected: a free port of an address of this machine)";
    for (Key<String> key : List.of(FrontKeys.HOST, AccessKeys.HOST, OperationKeys.METRICS_HOST)) {
      ConfigValues values =
          new ConfigValues()
              .set(FrontKeys.PORT, 0)
              .set(AccessKeys.PORT, 0)
              .set(AccessKeys.INSECURE, true)
              .set(OperationKeys.METRICS_PORT, 0)
              .set(key, "192.0.2.1");
      PointsmanConfig config = PointsmanConfig.from(values);
      assertThatThrownBy(() -> Router.start(config, "test"))
          .as(key.path())
          .isInstanceOf(StartException.class)
          .hasMessageEndingWith(reason);
    }
  }

  @Test
  void anOccupiedPortIsReportedAndNothingIsLeftOpen() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ConfigValues values = new ConfigValues().set(FrontKeys.PORT, taken.getLocalPort());
      PointsmanConfig config = PointsmanConfig.from(values);
      assertThatThrownBy(() -> Router.start(config, "test"))
          .isInstanceOf(StartException.class)
          .hasMessage("listen: 127.0.0.1:" + taken.getLocalPort() + IN_USE);
      ConfigValues metrics =
          new ConfigValues()
              .set(FrontKeys.PORT, 0)
              .set(OperationKeys.METRICS_PORT, taken.getLocalPort());
      PointsmanConfig withMetrics = PointsmanConfig.from(metrics);
      assertThatThrownBy(() -> Router.start(withMetrics, "test"))
          .isInstanceOf(StartException.class)
          .hasMessage("metrics: 127.0.0.1:" + taken.getLocalPort() + IN_USE);
      ConfigValues admin =
          new ConfigValues().set(FrontKeys.PORT, 0).set(AccessKeys.PORT, taken.getLocalPort());
      PointsmanConfig withAdmin = PointsmanConfig.from(admin);
      assertThatThrownBy(() -> Router.start(withAdmin, "test"))
          .isInstanceOf(StartException.class)
          .hasMessage("admin: 127.0.0.1:" + taken.getLocalPort() + IN_USE);
    }
  }
}
