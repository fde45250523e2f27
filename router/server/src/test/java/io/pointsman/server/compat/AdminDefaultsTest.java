package io.pointsman.server.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.compat.productionstack.ProductionStackLauncher;
import io.pointsman.compat.rayserve.RayServeFile;
import io.pointsman.compat.vllmrouter.VllmRouterLauncher;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.server.wiring.Router;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Each launcher as it is shipped: the paths on the port of clients and on the admin listener. */
@Timeout(120)
class AdminDefaultsTest {
  private static final List<String> OWN =
      List.of("/workers", "/list_workers", "/get_loads", "/decisions", "/metrics");

  @TempDir Path directory;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @SuppressWarnings("NullAway.Init") // started before each test
  private ScriptedEngine engine;

  @BeforeEach
  void start() throws IOException {
    engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
    opened.push(engine);
    opened.push(http::shutdownNow);
  }

  @AfterEach
  void close() throws Exception {
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private Router router(ConfigValues values) {
    values.set(FrontKeys.PORT, 0).set(OperationKeys.METRICS_PORT, 0);
    Router router = Router.start(PointsmanConfig.from(values), "test");
    opened.push(router);
    return router;
  }

  private ConfigValues vllm(String... flags) {
    List<String> args = new ArrayList<>(List.of(flags));
    args.addAll(List.of("--worker-urls", engine.url()));
    return VllmRouterLauncher.translate(args, Map.of());
  }

  private int status(String method, String url) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url.replace("0.0.0.0", "127.0.0.1")))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
  }

  /** Checks that only the admin listener serves the router's own paths. */
  private void assertApart(Router router, List<String> own) throws Exception {
    for (String path : own) {
      assertThat(status("GET", router.url() + path)).as(path).isEqualTo(404);
      assertThat(status("GET", router.adminUrl() + path)).as(path).isEqualTo(200);
    }
    for (String path :
        List.of("/v1/decide", "/internal/route", "/v1/leases/x/settle", "/flush_cache")) {
      assertThat(status("POST", router.url() + path)).as(path).isEqualTo(404);
    }
    assertThat(status("POST", router.adminUrl() + "/v1/decide")).isEqualTo(400);
    assertThat(status("GET", router.url() + "/liveness")).isEqualTo(200);
    assertThat(engine.requests()).noneMatch(request -> request.line().startsWith("POST"));
  }

  @Test
  void serve() throws Exception {
    Router router = router(YamlConfig.parse("test", "workers: ['" + engine.url() + "']"));

    assertApart(router, OWN);
    assertThat(status("POST", router.url() + "/add_worker?url=" + engine.url())).isEqualTo(404);
    assertThat(status("POST", router.url() + "/sleep")).isEqualTo(404);
    assertThat(status("POST", router.url() + "/%73leep")).isEqualTo(404);
    assertThat(status("POST", router.adminUrl() + "/finish_session?session_id=a")).isEqualTo(200);
  }

  @Test
  void vllmRouterOnTheLoopback() throws Exception {
    Router router = router(vllm());

    for (String path : OWN) {
      assertThat(status("GET", router.url() + path)).as(path).isEqualTo(200);
    }
    assertThat(status("POST", router.url() + "/finish_session?session_id=a")).isEqualTo(200);
  }

  @Test
  void vllmRouterForOthers() throws Exception {
    assertApart(router(vllm("--host", "0.0.0.0")), OWN);
    assertApart(router(vllm("--admin-on-client-port", "false")), OWN);
    assertThatThrownBy(
            () -> PointsmanConfig.from(vllm("--host", "0.0.0.0", "--admin-on-client-port")))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("admin.api-key");
    ConfigValues keyed = vllm("--host", "0.0.0.0", "--admin-on-client-port");
    keyed.set(AccessKeys.API_KEY, "secret");
    assertThat(status("GET", router(keyed).url() + "/workers")).isEqualTo(401);
  }

  @Test
  void vllmRouterWithKeysOfClients() {
    assertThat(vllm("--auth-keys-file", "keys.yaml").get(AccessKeys.ON_CLIENT_PORT)).isFalse();
    ConfigValues values = vllm("--api-key-validation-urls", "http://127.0.0.1:1/check");

    assertThat(PointsmanConfig.from(values).access().onClientPort()).isFalse();
  }

  @Test
  void productionStack() throws Exception {
    List<String> args =
        List.of(
            "--host=127.0.0.1",
            "--service-discovery=static",
            "--routing-logic=roundrobin",
            "--static-backends=" + engine.url(),
            "--static-models=m");
    Router router = router(ProductionStackLauncher.translate(args, Map.of()));

    assertApart(router, List.of("/workers"));
    assertThat(status("GET", router.url() + "/metrics")).isEqualTo(200);
    assertThat(status("GET", router.url() + "/engines")).isEqualTo(200);
    assertThat(status("GET", router.url() + "/version")).isEqualTo(200);
    assertThat(status("POST", router.url() + "/sleep")).isEqualTo(404);
    assertThat(status("POST", router.adminUrl() + "/add_worker")).isEqualTo(404);
  }

  @Test
  void rayServe() throws Exception {
    Path file =
        Files.writeString(
            directory.resolve("serve.yaml"),
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications:
            - import_path: ray.serve.llm:build_openai_app
              args:
                llm_configs:
                - model_loading_config: {model_id: m}
                  workers: ["%s"]
            """
                .formatted(engine.url()));
    Router router = router(RayServeFile.read(file, Map.of(), new ConfigValues()).values());

    assertApart(router, List.of("/workers", "/metrics"));
    assertThat(status("GET", router.url() + "/-/routes")).isEqualTo(200);
  }
}
