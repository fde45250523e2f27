package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.KvEventKeys;
import io.pointsman.config.key.KvTokenKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.KvEventLimits;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.WorkerNetworks;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.health.EngineClient;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A whole router with subscriptions to KV events, over sockets. */
@Timeout(240)
class KvSubscriptionsTest {
  private static final WorkerNetworks NETWORKS = new WorkerNetworks(WorkerNetworks.STANDARD);

  private final HttpClient http = HttpClient.newHttpClient();

  private static SimEngine engine(EventFormat format) {
    return SimEngine.start(SimConfig.instant().withModels("m").withEvents(EventOptions.of(format)));
  }

  private static Router router(SimEngine... engines) {
    return router("kv_aware", "none", engines);
  }

  private static Router router(String policy, String shadow, SimEngine... engines) {
    return Router.start(PointsmanConfig.from(values(policy, shadow, engines)), "test");
  }

  private static ConfigValues values(String policy, String shadow, SimEngine... engines) {
    return new ConfigValues()
        .set(FrontKeys.PORT, 0)
        .set(OperationKeys.METRICS_PORT, 0)
        .set(FleetKeys.HEALTH_FIRST_RETRY, Duration.ofMillis(10))
        .set(RoutingKeys.POLICY, policy)
        .set(RoutingKeys.SHADOW_POLICY, shadow)
        .set(KvEventKeys.MODE, KvEventSettings.Mode.AUTO)
        .set(
            RoutingKeys.WORKERS,
            List.of(engines).stream().map(each -> WorkerSpec.of(each.url())).toList());
  }

  private void complete(String url, int first) throws IOException, InterruptedException {
    String ids =
        IntStream.range(first, first + 200)
            .mapToObj(Integer::toString)
            .collect(Collectors.joining(","));
    String body = "{\"model\":\"m\",\"max_tokens\":1,\"prompt\":[" + ids + "]}";
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + "/v1/completions"))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    assertThat(http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode())
        .isEqualTo(200);
  }

  private String metrics(Router router) {
    try {
      return http.send(
              HttpRequest.newBuilder(URI.create(Objects.requireNonNull(router.metricsUrl())))
                  .build(),
              HttpResponse.BodyHandlers.ofString())
          .body();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private void awaitMetric(Router router, String line) {
    Await.until(() -> line + " in\n" + metrics(router), () -> metrics(router).contains(line));
  }

  @ParameterizedTest
  @EnumSource(EventFormat.class)
  void promptsGoToEnginesThatReportThemAsCached(EventFormat format) throws Exception {
    try (SimEngine first = engine(format);
        SimEngine second = engine(format);
        SimEngine third = engine(format);
        Router router = router(first, second, third)) {
      for (SimEngine each : List.of(first, second, third)) {
        awaitMetric(
            router, "pointsman_kv_event_sources_live{worker=\"127.0.0.1:" + each.port() + "\"} 1");
      }
      // Bypasses the router, which can learn of it only from the engine.
      complete(second.url(), 1000);
      awaitMetric(router, "pointsman_kv_index_blocks 12");
      for (int i = 0; i < 6; i++) {
        complete(router.url(), 1000);
      }
      assertThat(second.state().requests().served()).isEqualTo(7);
      assertThat(metrics(router))
          .contains("pointsman_kv_event_gaps_total 0")
          .contains("pointsman_kv_event_batches_total{result=\"malformed\"} 0");
    }
  }

  /** The engine's KV events would describe the placements of another policy. */
  @Test
  void enginesAreNotQueriedForAShadowPolicy() throws Exception {
    try (SimEngine engine = engine(EventFormat.VLLM);
        Router router = router("cache_aware", "cost", engine)) {
      awaitMetric(router, "pointsman_worker_healthy{worker=\"127.0.0.1:" + engine.port() + "\"} 1");
      complete(router.url(), 1000);
      assertThat(metrics(router))
          .contains("pointsman_shadow_")
          .doesNotContain("pointsman_kv_token_requests_total")
          .doesNotContain("pointsman_kv_event_batches_total");
    }
  }

  /** A worker that reports its publishers only for the key {@code prefill}. */
  private static HttpServer guarded(Collection<String> keys) throws IOException {
    HttpServer engine =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    engine.createContext(
        "/",
        exchange -> {
          String key = exchange.getRequestHeaders().getFirst("authorization");
          keys.add(String.valueOf(key));
          exchange.sendResponseHeaders("Bearer prefill".equals(key) ? 404 : 401, -1);
          exchange.close();
        });
    engine.start();
    return engine;
  }

  @Test
  void enginesAreQueriedWithTheKeyOfTheirRole() throws Exception {
    Queue<String> keys = new ConcurrentLinkedQueue<>();
    HttpServer engine = guarded(keys);
    Ticker ticker = new SystemTicker();
    Fleet fleet = new Fleet(FleetSettings.DEFAULTS, ticker);
    String url = "http://127.0.0.1:" + engine.getAddress().getPort();
    fleet.add(WorkerSpec.of(url).withRole(Role.PREFILL)).probed(true);
    KvEventSettings settings =
        new KvEventSettings(
            KvEventSettings.Mode.AUTO,
            "",
            "",
            "",
            1,
            Duration.ofMillis(200),
            KvEventLimits.DEFAULTS);
    EngineClient client = new EngineClient(new EngineKeys("all", "prefill", "decode"), ticker);
    KvIndex index = new KvIndex(1 << 20, 16, ticker);
    try (KvSubscriptions subscriptions =
        new KvSubscriptions(fleet, index, client, NETWORKS::contains, ticker, (_, _) -> {})) {
      subscriptions.use(settings);
      Await.until("three paths", () -> keys.size() >= 3);
    } finally {
      engine.stop(0);
    }
    assertThat(keys).containsOnly("Bearer prefill");
  }

  @Test
  void theSeriesOfALeavingWorkerDisappear() throws Exception {
    try (SimEngine engine = engine(EventFormat.VLLM);
        Router router = router(engine)) {
      String id = "127.0.0.1:" + engine.port();
      awaitMetric(router, "pointsman_kv_event_sources{worker=\"" + id + "\"} 1");
      router.fleet().remove(id);
      Await.until(
          "no series", () -> !metrics(router).contains("pointsman_kv_event_sources{worker"));
      awaitMetric(router, "pointsman_kv_event_resets_total{reason=\"gone\"} 1");
    }
  }

  @Test
  void subscriptionsFollowTheConfiguration() throws Exception {
    try (SimEngine engine = engine(EventFormat.VLLM);
        SimEngine other = engine(EventFormat.VLLM)) {
      PointsmanConfig without = PointsmanConfig.from(values("round_robin", "none", engine, other));
      PointsmanConfig with = PointsmanConfig.from(values("kv_aware", "none", engine, other));
      try (Router router = Router.start(without, "test")) {
        String live = "pointsman_kv_event_sources_live{worker=\"127.0.0.1:" + engine.port() + "\"}";
        awaitMetric(
            router, "pointsman_worker_healthy{worker=\"127.0.0.1:" + engine.port() + "\"} 1");
        assertThat(metrics(router)).doesNotContain(live);

        router.change(without, with);
        awaitMetric(router, live + " 1");
        // Bypasses the router, which can learn of it only from the engine.
        complete(engine.url(), 1000);
        awaitMetric(router, "pointsman_kv_index_blocks 12");
        for (int i = 0; i < 4; i++) {
          complete(router.url(), 1000);
        }
        assertThat(engine.state().requests().served()).isEqualTo(5);

        PointsmanConfig slower =
            PointsmanConfig.from(
                values("kv_aware", "none", engine, other)
                    .set(KvEventKeys.REFRESH, Duration.ofMillis(100))
                    .set(KvEventKeys.MAX_MESSAGE, 1L << 20));
        router.change(with, slower);
        complete(engine.url(), 5000);
        awaitMetric(router, "pointsman_kv_index_blocks 24");
        assertThat(metrics(router))
            .contains("pointsman_kv_event_resets_total{reason=\"gone\"} 0")
            .contains("pointsman_kv_event_connects_total 2");

        router.change(slower, without);
        awaitMetric(router, "pointsman_kv_index_blocks 0");
        assertThat(metrics(router)).doesNotContain(live);
      }
    }
  }

  @Test
  void textsAreAskedForFromTheChangeOn() throws Exception {
    try (SimEngine engine = engine(EventFormat.VLLM)) {
      ConfigValues off = values("kv_aware", "none", engine).set(KvTokenKeys.ENABLED, false);
      PointsmanConfig without = PointsmanConfig.from(off);
      PointsmanConfig with = PointsmanConfig.from(values("kv_aware", "none", engine));
      try (Router router = Router.start(without, "test")) {
        awaitMetric(
            router,
            "pointsman_kv_event_sources_live{worker=\"127.0.0.1:" + engine.port() + "\"} 1");
        completeText(router.url(), "first ");
        assertThat(metrics(router)).doesNotContain("pointsman_kv_token_requests_total");

        router.change(without, with);
        completeText(router.url(), "second ");
        awaitMetric(router, "pointsman_kv_token_requests_total{result=\"learned\"} 1");

        router.change(with, without);
        assertThat(metrics(router)).doesNotContain("pointsman_kv_texts_bytes");
        completeText(router.url(), "third ");
        assertThat(metrics(router))
            .contains("pointsman_kv_token_requests_total{result=\"learned\"} 1");
      }
    }
  }

  private void completeText(String url, String word) throws IOException, InterruptedException {
    String body = "{\"model\":\"m\",\"max_tokens\":1,\"prompt\":\"" + word.repeat(200) + "\"}";
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + "/v1/completions"))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    assertThat(http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode())
        .isEqualTo(200);
  }
}
