package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.api.keys.KeyFile;
import io.pointsman.api.keys.StoredKey;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Keys that change while the router runs, over sockets. */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before each test
class RotatedKeysTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String HI = "{\"model\":\"m\",\"messages\":[]}";
  private static final String STREAM = "{\"model\":\"m\",\"messages\":[],\"stream\":true}";

  @TempDir Path directory;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final CountDownLatch streamEnds = new CountDownLatch(1);
  private ScriptedEngine engine;

  @BeforeEach
  void start() throws Exception {
    engine =
        ScriptedEngine.start(new Faults.Healthy("m", new Faults.OpenStreams(STREAM, streamEnds)));
    opened.push(engine);
  }

  @AfterEach
  void close() throws Exception {
    streamEnds.countDown();
    http.shutdownNow();
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private PointsmanConfig config(String more) {
    return config(engine.url(), more);
  }

  private static PointsmanConfig config(String workers, String more) {
    String yaml =
        """
        workers: [%s]
        max-workers: 2
        listen: {port: 0}
        metrics: {port: 0}
        policy: round_robin
        health: {first-retry: 10ms, max-retry: 50ms, interval: 1s}
        """
            .formatted(workers);
    return PointsmanConfig.from(YamlConfig.parse("test", yaml + more));
  }

  private Router started(PointsmanConfig config) {
    Router router = Router.start(config, "test");
    opened.push(router);
    Await.until("healthy", () -> router.fleet().snapshot().workers().getFirst().health().healthy());
    return router;
  }

  private HttpRequest request(String method, String url, String key, String body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url))
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    if (!key.isEmpty()) {
      request.header("authorization", "Bearer " + key);
    }
    return request.build();
  }

  private int call(String method, String url, String key, String body) throws Exception {
    return http.send(request(method, url, key, body), HttpResponse.BodyHandlers.ofString())
        .statusCode();
  }

  private int chat(Router router, String key) throws Exception {
    return call("POST", router.url() + CHAT, key, HI);
  }

  private EngineRequest lastChat() {
    return engine.requests().stream()
        .filter(each -> each.line().startsWith("POST "))
        .reduce((_, later) -> later)
        .orElseThrow();
  }

  private boolean probedWith(String key) {
    return engine.requests().stream()
        .anyMatch(
            each ->
                each.line().startsWith("GET /health ")
                    && ("Bearer " + key).equals(each.header("authorization")));
  }

  private String keysFile(String name, String client) throws Exception {
    Path file = directory.resolve(name);
    String hash = StoredKey.hash("pmk-" + client);
    KeyFile.add(file, new StoredKey(client, KeyRole.CLIENT, hash, List.of(), null));
    return "auth: {keys-file: '" + file + "'}\n";
  }

  @Test
  void enginesGetTheNewKeyInRequestsAndProbes() throws Exception {
    PointsmanConfig before = config("admin: {port: 0}\napi-key: old-key\n");
    Router router = started(before);
    assertThat(chat(router, "")).isEqualTo(200);
    assertThat(lastChat().header("authorization")).isEqualTo("Bearer old-key");

    router.change(before, config("admin: {port: 0}\napi-key: new-key\n"));

    assertThat(chat(router, "")).isEqualTo(200);
    assertThat(lastChat().header("authorization")).isEqualTo("Bearer new-key");
    Await.until("a probe has the new key", () -> probedWith("new-key"));
  }

  @Test
  void administratorsAndPlanesNeedTheNewKeys() throws Exception {
    PointsmanConfig before = config("admin: {port: 0, api-key: a1}\ndecide: {api-key: p1}\n");
    Router router = started(before);
    String workers = router.adminUrl() + "/workers";
    String decide = router.adminUrl() + "/v1/decide";
    assertThat(call("GET", workers, "a1", "")).isEqualTo(200);

    router.change(before, config("admin: {port: 0, api-key: a2}\ndecide: {api-key: p2}\n"));

    assertThat(call("GET", workers, "a1", "")).isEqualTo(401);
    assertThat(call("GET", workers, "a2", "")).isEqualTo(200);
    assertThat(call("POST", decide, "p1", "{")).isEqualTo(401);
    assertThat(call("POST", decide, "p2", "{")).isEqualTo(400);
  }

  @Test
  void clientsNeedAKeyOfTheNewFileAndStreamsGoOn() throws Exception {
    PointsmanConfig before = config("admin: {port: 0}\n" + keysFile("a.yaml", "alice"));
    Router router = started(before);
    assertThat(chat(router, "pmk-alice")).isEqualTo(200);
    HttpResponse<InputStream> stream =
        http.send(
            request("POST", router.url() + CHAT, "pmk-alice", STREAM),
            HttpResponse.BodyHandlers.ofInputStream());
    assertThat(stream.statusCode()).isEqualTo(200);

    router.change(before, config("admin: {port: 0}\n" + keysFile("b.yaml", "bob")));

    assertThat(chat(router, "pmk-alice")).isEqualTo(401);
    assertThat(chat(router, "pmk-bob")).isEqualTo(200);
    streamEnds.countDown();
    try (InputStream body = stream.body()) {
      assertThat(new String(body.readAllBytes(), StandardCharsets.UTF_8))
          .isEqualTo("data: begun\n\ndata: [DONE]\n\n");
    }
  }

  @Test
  void aNewFileOfKeysIsFollowed() throws Exception {
    PointsmanConfig before = config("admin: {port: 0}\n" + keysFile("a.yaml", "alice"));
    Router router = started(before);
    router.change(before, config("admin: {port: 0}\n" + keysFile("b.yaml", "bob")));

    String _ = keysFile("b.yaml", "carol");

    Await.until("carol is known", () -> admitted(router, "pmk-carol"));
    assertThat(chat(router, "pmk-bob")).isEqualTo(200);
  }

  @Test
  void theAdminListenerStaysClosedIfTheNewFileHasNoAdministrator() throws Exception {
    String first = keysFile("a.yaml", "alice");
    StoredKey ops = new StoredKey("ops", KeyRole.ADMIN, StoredKey.hash("pmk-ops"), List.of(), null);
    KeyFile.add(directory.resolve("a.yaml"), ops);
    PointsmanConfig before = config("admin: {port: 0}\n" + first);
    Router router = started(before);
    String workers = router.adminUrl() + "/workers";
    assertThat(call("GET", workers, "", "")).isEqualTo(401);
    assertThat(call("GET", workers, "pmk-ops", "")).isEqualTo(200);

    router.change(before, config("admin: {port: 0}\n" + keysFile("b.yaml", "bob")));

    assertThat(call("GET", workers, "", "")).isEqualTo(401);
    assertThat(call("GET", workers, "pmk-ops", "")).isEqualTo(401);
  }

  private boolean admitted(Router router, String key) {
    try {
      return chat(router, key) == 200;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void pathsCloseForClients() throws Exception {
    PointsmanConfig before = config("admin: {port: 0}\n");
    Router router = started(before);
    assertThat(call("GET", router.url() + "/other", "", "")).isEqualTo(200);

    router.change(before, config("admin: {port: 0}\npaths: {allow: [api]}\n"));

    assertThat(call("GET", router.url() + "/other", "", "")).isEqualTo(404);
    assertThat(chat(router, "")).isEqualTo(200);
  }

  @Test
  void keysThatCannotBeReadChangeNothing() throws Exception {
    PointsmanConfig before = config("admin: {port: 0, api-key: a1}\napi-key: old-key\n");
    Router router = started(before);
    String missing = "auth: {keys-file: '" + directory.resolve("missing.yaml") + "'}\n";

    assertThatThrownBy(
            () ->
                router.change(
                    before, config("admin: {port: 0, api-key: a2}\napi-key: new-key\n" + missing)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("missing.yaml");

    unchanged(router);
  }

  @Test
  void workersWithoutRoomLeaveTheOldKeys() throws Exception {
    PointsmanConfig before = config("admin: {port: 0, api-key: a1}\napi-key: old-key\n");
    Router router = started(before);
    String three = engine.url() + ", http://a.test:1, http://b.test:1";

    assertThatThrownBy(
            () ->
                router.change(
                    before, config(three, "admin: {port: 0, api-key: a2}\napi-key: new-key\n")))
        .isInstanceOf(IllegalStateException.class);

    unchanged(router);
  }

  private void unchanged(Router router) throws Exception {
    assertThat(call("GET", router.adminUrl() + "/workers", "a1", "")).isEqualTo(200);
    assertThat(chat(router, "")).isEqualTo(200);
    assertThat(lastChat().header("authorization")).isEqualTo("Bearer old-key");
  }
}
