package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.compat.productionstack.ProductionStackLauncher;
import io.pointsman.compat.rayserve.RayServeFile;
import io.pointsman.compat.vllmrouter.VllmRouterLauncher;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** WebSockets and pages of other origins, through each launcher, in front of two models. */
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
@Timeout(180)
@Tag("full")
final class LauncherWebSocketTest {
  private static final String SWITCH =
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n";

  @TempDir Path directory;

  private static EngineScript echo(String model) {
    return new Faults.Healthy(
        model,
        (request, connection) -> {
          if (request.header("upgrade") == null) {
            connection.reply(426, "text/plain", "");
          } else {
            connection.send(SWITCH);
            connection.send(model + ":" + connection.receive(2)).close();
          }
        });
  }

  private RunningRouter start(String launcher, String a, String b) throws IOException {
    ConfigValues values =
        switch (launcher) {
          case "serve" ->
              YamlConfig.parse(
                  "serve",
                  "workers: [{url: '" + a + "'}, {url: '" + b + "'}]\nlisten: {port: 0}\n");
          case "vllm-router" ->
              VllmRouterLauncher.translate(List.of("--port", "0", "--worker-urls", a, b), Map.of());
          case "production-stack" ->
              ProductionStackLauncher.translate(
                  List.of(
                      "--host", "127.0.0.1",
                      "--port", "0",
                      "--service-discovery", "static",
                      "--static-backends", a + "," + b,
                      "--static-models", "llama,voxtral",
                      "--routing-logic", "roundrobin"),
                  Map.of());
          case "ray-serve" -> rayServe(a, b);
          default -> throw new IllegalArgumentException(launcher);
        };
    values.set(OperationKeys.METRICS_PORT, 0);
    return RunningRouter.of(PointsmanConfig.from(values));
  }

  private ConfigValues rayServe(String a, String b) throws IOException {
    String model =
        """
            - model_loading_config: {model_id: %s}
              workers: ["%s"]
        """;
    Path file = directory.resolve("serve.yaml");
    Files.writeString(
        file,
        """
        http_options: {host: 127.0.0.1, port: 0}
        applications:
        - import_path: ray.serve.llm:build_openai_app
          args:
            llm_configs:
        """
            + model.formatted("llama", a)
            + model.formatted("voxtral", b));
    return RayServeFile.read(file, Map.of(), new ConfigValues()).values();
  }

  @ParameterizedTest
  @ValueSource(strings = {"serve", "vllm-router", "production-stack", "ray-serve"})
  void theUpgradeReachesAWorkerOfTheModel(String launcher) throws Exception {
    try (ScriptedEngine a = ScriptedEngine.start(echo("llama"));
        ScriptedEngine b = ScriptedEngine.start(echo("voxtral"));
        RunningRouter router = start(launcher, a.url(), b.url())) {
      WaitFor.until("all workers healthy", WaitFor.LONG, router::allHealthy);
      try (RawClient client = RawClient.connect(router.port())) {
        client.send(
            "GET",
            "/v1/realtime?model=voxtral",
            new byte[0],
            List.of("connection: Upgrade", "upgrade: websocket", "sec-websocket-key: k"));
        assertThat(client.readHead().status()).isEqualTo(101);
        client.send("hi".getBytes(StandardCharsets.US_ASCII));
        assertThat(rest(client)).isEqualTo("voxtral:hi");
      }
      WaitFor.until(
          "the WebSocket is counted",
          WaitFor.LONG,
          () -> router.metric("pointsman_requests_total", "endpoint=\"realtime\"") == 1);
    }
  }

  private static String rest(RawClient client) throws IOException {
    StringBuilder text = new StringBuilder();
    byte[] bytes = new byte[64];
    int read;
    while ((read = client.readSome(bytes, bytes.length)) > 0) {
      text.append(new String(bytes, 0, read, StandardCharsets.US_ASCII));
    }
    return text.toString();
  }

  @ParameterizedTest
  @ValueSource(strings = {"vllm-router", "ray-serve"})
  void pagesOfAnyOriginReachWorkersOnly(String launcher) throws Exception {
    try (ScriptedEngine a = ScriptedEngine.start(echo("llama"));
        ScriptedEngine b = ScriptedEngine.start(echo("voxtral"));
        RunningRouter router = start(launcher, a.url(), b.url())) {
      assertThat(preflight(router, "/v1/chat/completions"))
          .contains("access-control-allow-headers: *, authorization");
      assertThat(preflight(router, "/v1/models")).contains("access-control-allow-origin: *");
      for (String path : List.of("/workers", "/v1/decide", "/sleep")) {
        assertThat(preflight(router, path)).doesNotContain("access-control-");
      }
    }
  }

  private static String preflight(RunningRouter router, String path) throws IOException {
    try (RawClient client = RawClient.connect(router.port())) {
      client.send(
          "OPTIONS",
          path,
          new byte[0],
          List.of(
              "origin: https://a.example",
              "access-control-request-method: POST",
              "connection: close"));
      return rest(client);
    }
  }
}
