package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Workers that are added over HTTP: their addresses, and the key of engines. */
@Timeout(120)
class AddedWorkersTest {
  private static final String KEY = "Bearer engines-key";

  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @AfterEach
  void close() throws Exception {
    http.shutdownNow();
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private ScriptedEngine engine() throws IOException {
    ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
    opened.push(engine);
    return engine;
  }

  private Router router(ScriptedEngine configured, String more) {
    String yaml =
        "workers: ['%s']\nlisten: {port: 0}\nmetrics: {port: 0}\npolicy: round_robin\n"
                .formatted(configured.url())
            + "health: {first-retry: 10ms, max-retry: 50ms}\n"
            + "api-key: engines-key\n"
            + more;
    Router router = Router.start(PointsmanConfig.from(YamlConfig.parse("test", yaml)), "test");
    opened.push(router);
    return router;
  }

  private HttpResponse<String> post(String url, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }

  private static List<EngineRequest> withKey(ScriptedEngine engine) {
    return engine.requests().stream()
        .filter(request -> KEY.equals(request.header("authorization")))
        .toList();
  }

  private void ask(Router router) throws Exception {
    for (int i = 0; i < 4; i++) {
      String body = "{\"model\":\"m\",\"prompt\":\"p%d\"}".formatted(i);
      assertThat(post(router.url() + "/v1/completions", body).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void anAddedWorkerGetsNoKeyFromProbesRequestsAndCalls() throws Exception {
    ScriptedEngine configured = engine();
    ScriptedEngine added = engine();
    Router router = router(configured, "");

    assertThat(post(router.adminUrl() + "/add_worker?url=" + added.url(), "").statusCode())
        .isEqualTo(200);
    ask(router);
    post(router.adminUrl() + "/flush_cache", "");
    post(router.adminUrl() + "/reset_prefix_cache", "");

    assertThat(added.requests()).anyMatch(each -> each.line().startsWith("POST /v1/completions"));
    assertThat(added.requests()).anyMatch(each -> each.line().contains("/reset_prefix_cache"));
    assertThat(withKey(added)).isEmpty();
    assertThat(withKey(configured)).hasSameSizeAs(configured.requests());
  }

  @Test
  void anAddedWorkerOfAListedOriginGetsTheKey() throws Exception {
    ScriptedEngine added = engine();
    Router router = router(engine(), "api-key-origins: ['" + added.url() + "']\n");
    String body = "{\"url\":\"" + added.url() + "\"}";

    assertThat(post(router.adminUrl() + "/workers", body).statusCode()).isEqualTo(200);
    ask(router);

    assertThat(withKey(added)).hasSameSizeAs(added.requests()).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://8.8.8.8:80",
        "http://169.254.169.254",
        "https://attacker.example",
        "http://[2001:db8::1]:8000"
      })
  void aForeignAddressIsForbidden(String url) throws Exception {
    Router router = router(engine(), "");

    HttpResponse<String> text = post(router.adminUrl() + "/add_worker?url=" + encoded(url), "");
    assertThat(text.statusCode()).isEqualTo(403);
    assertThat(text.body()).contains(url, "admin.worker-networks");
    HttpResponse<String> json = post(router.adminUrl() + "/workers", "{\"url\":\"" + url + "\"}");
    assertThat(json.statusCode()).isEqualTo(403);
    assertThat(json.body()).contains("admin.worker-networks");
    assertThat(router.fleet().snapshot().workers()).hasSize(1);
  }

  private static String encoded(String url) {
    return URLEncoder.encode(url, StandardCharsets.UTF_8);
  }

  @Test
  void aConfiguredNetworkReplacesTheDefaults() throws Exception {
    ScriptedEngine added = engine();
    Router router = router(engine(), "admin: {worker-networks: [10.0.0.0/8]}\n");

    String other = added.url().replace("127.0.0.1", "localhost");
    assertThat(post(router.adminUrl() + "/add_worker?url=" + other, "").statusCode())
        .isEqualTo(403);
    // The host of a configured worker is admitted.
    assertThat(post(router.adminUrl() + "/add_worker?url=" + added.url(), "").statusCode())
        .isEqualTo(200);
  }
}
