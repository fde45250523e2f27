package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.EngineConnection;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Settings of prefill and decode on two workers that change while the router runs, over HTTP. */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before each test
class ChangedStagesTest {
  private static final String CHAT = "/v1/chat/completions";

  private static final String PREFILLED =
      "{\"choices\":[{\"message\":{\"content\":\"\"}}],\"kv_transfer_params\":"
          + "{\"do_remote_prefill\":true,\"do_remote_decode\":false,\"remote_engine_id\":\"e1\","
          + "\"remote_block_ids\":[1,2],\"remote_host\":\"127.0.0.1\",\"remote_port\":9}}";

  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** Opens the answers of prefill workers. */
  private volatile CountDownLatch prefills = new CountDownLatch(0);

  private List<ScriptedEngine> prefill;
  private List<ScriptedEngine> decode;

  @BeforeEach
  void start() throws Exception {
    prefill = List.of(engine(this::prefilled), engine(this::prefilled));
    decode = List.of(engine(Faults.Answer.ok()::answer), engine(Faults.Answer.ok()::answer));
  }

  private interface Script {
    void answer(EngineRequest request, EngineConnection connection)
        throws IOException, InterruptedException;
  }

  private ScriptedEngine engine(Script script) throws Exception {
    ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", script::answer));
    opened.push(engine);
    return engine;
  }

  private void prefilled(EngineRequest request, EngineConnection connection)
      throws IOException, InterruptedException {
    prefills.await();
    connection.reply(200, "application/json", PREFILLED);
  }

  @AfterEach
  void close() throws Exception {
    prefills.countDown();
    http.shutdownNow();
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private PointsmanConfig config(String disaggregation) {
    StringBuilder workers = new StringBuilder();
    prefill.forEach(each -> workers.append("  - {url: '" + each.url() + "', role: prefill}\n"));
    decode.forEach(each -> workers.append("  - {url: '" + each.url() + "', role: decode}\n"));
    String yaml =
        """
        listen: {port: 0}
        metrics: {port: 0}
        admin: {port: 0}
        health: {first-retry: 10ms}
        workers:
        """;
    return PointsmanConfig.from(
        YamlConfig.parse(
            "test",
            yaml + workers + "disaggregation: {cached-share: 2, " + disaggregation + "}\n"));
  }

  private Router started(PointsmanConfig config) {
    Router router = Router.start(config, "test");
    opened.push(router);
    awaitHealthy(router);
    return router;
  }

  private static void awaitHealthy(Router router) {
    Await.until(
        "healthy",
        () ->
            router.fleet().snapshot().workers().stream()
                    .filter(worker -> worker.health().healthy() && !worker.models().isEmpty())
                    .count()
                == 4);
  }

  private static String body(String word) {
    return "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\""
        + (word + " ").repeat(400)
        + "\"}]}";
  }

  private HttpResponse<String> post(String url, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }

  /** The decision for a prompt. */
  private JsonNode decided(Router router, String word, String more) throws Exception {
    String question = "{\"path\":\"" + CHAT + "\"," + more + ",\"body\":" + body(word) + "}";
    HttpResponse<String> answer = post(router.adminUrl() + "/v1/decide", question);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return new ObjectMapper().readTree(answer.body());
  }

  private static List<EngineRequest> posts(List<ScriptedEngine> engines) {
    List<EngineRequest> all = new ArrayList<>();
    for (ScriptedEngine each : engines) {
      each.requests().stream().filter(one -> one.line().startsWith("POST ")).forEach(all::add);
    }
    return all;
  }

  @Test
  void thresholdsDecideFromTheChangeOn() throws Exception {
    PointsmanConfig before = config("protocol: nixl");
    Router router = started(before);
    assertThat(decided(router, "a", "\"reserve\":false").path("split").asText()).isEqualTo("split");

    PointsmanConfig next = config("protocol: nixl, threshold: 100000");
    router.change(before, next);
    assertThat(decided(router, "b", "\"reserve\":false").path("split").asText())
        .isEqualTo("short_input");
    assertThat(post(router.url() + CHAT, body("c")).statusCode()).isEqualTo(200);
    assertThat(posts(prefill)).isEmpty();

    router.change(next, before);
    assertThat(post(router.url() + CHAT, body("d")).statusCode()).isEqualTo(200);
    assertThat(posts(prefill)).hasSize(1);
  }

  @Test
  void notificationsArriveAtTheAddressOfTheProtocolInForce() throws Exception {
    PointsmanConfig nixl = config("protocol: nixl");
    Router router = started(nixl);
    String lmcache =
        "protocol: lmcache, notification-wait: 1ms, receiver: '127.0.0.1/8300/8400',"
            + " notification-address: '127.0.0.1:";
    int port;
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = taken.getLocalPort();
      PointsmanConfig refused = config(lmcache + port + "'");
      assertThatThrownBy(() -> router.change(nixl, refused))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(":" + port);
    }
    assertThat(decided(router, "a", "\"reserve\":false").path("split").asText()).isEqualTo("split");

    PointsmanConfig next = config(lmcache + port + "'");
    router.change(nixl, next);
    try (Socket peer = new Socket(InetAddress.getLoopbackAddress(), port)) {
      assertThat(peer.isConnected()).isTrue();
    }
    assertThat(post(router.url() + CHAT, body("b")).statusCode()).isEqualTo(200);
    assertThat(posts(prefill)).hasSize(1);

    router.change(next, nixl);
    assertThatThrownBy(() -> new Socket(InetAddress.getLoopbackAddress(), port).close())
        .isInstanceOf(ConnectException.class);
  }

  /** Roles of workers change with the protocol; a request in progress has the old ones. */
  @Test
  void twoWorkersBeginAndEnd() throws Exception {
    PointsmanConfig plain = plain();
    Router router = started(plain);
    assertThat(decided(router, "a", "\"reserve\":false").has("prefill")).isFalse();
    assertThat(post(router.url() + CHAT, body("a")).statusCode()).isEqualTo(200);
    assertThat(series(router)).doesNotContain("pointsman_pd_waiting");

    PointsmanConfig nixl = config("protocol: nixl");
    router.change(plain, nixl);
    assertThat(decided(router, "b", "\"reserve\":false").path("split").asText()).isEqualTo("split");
    assertThat(series(router)).contains("pointsman_pd_waiting 0");
    prefills = new CountDownLatch(1);
    int before = posts(prefill).size();
    CompletableFuture<HttpResponse<String>> inProgress =
        http.sendAsync(
            HttpRequest.newBuilder(URI.create(router.url() + CHAT))
                .POST(HttpRequest.BodyPublishers.ofString(body("c")))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    Await.until("a prefill", () -> posts(prefill).size() == before + 1);

    router.change(nixl, plain);
    assertThat(decided(router, "d", "\"reserve\":false").has("prefill")).isFalse();
    int decodes = posts(decode).size();
    prefills.countDown();
    assertThat(inProgress.get().statusCode()).isEqualTo(200);
    assertThat(posts(decode)).hasSize(decodes + 1);
    // The list has the requests engine by engine, so the last one can be an earlier one.
    assertThat(posts(decode))
        .filteredOn(each -> each.bodyText().contains("\"remote_engine_id\":\"e1\""))
        .hasSize(1);
    assertThat(post(router.url() + CHAT, body("e")).statusCode()).isEqualTo(200);

    router.change(plain, nixl);
    assertThat(decided(router, "f", "\"reserve\":false").path("split").asText()).isEqualTo("split");
    assertThat(post(router.url() + CHAT, body("g")).statusCode()).isEqualTo(200);
  }

  @Test
  void noRequestFailsWhileTheRolesChange() throws Exception {
    PointsmanConfig plain = plain();
    Router router = started(plain);
    PointsmanConfig nixl = config("protocol: nixl");
    AtomicBoolean ends = new AtomicBoolean();
    AtomicInteger answered = new AtomicInteger();
    Queue<String> failures = new ConcurrentLinkedQueue<>();
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      String word = "client" + i;
      clients.add(
          Thread.startVirtualThread(
              () -> {
                while (!ends.get()) {
                  ask(router, word, answered, failures);
                }
              }));
    }
    try {
      for (int i = 0; i < 10; i++) {
        boolean begins = i % 2 == 0;
        int before = answered.get();
        router.change(begins ? plain : nixl, begins ? nixl : plain);
        Await.until(
            () -> "answers: " + answered.get() + " " + failures,
            () -> answered.get() > before + 20 || !failures.isEmpty());
      }
    } finally {
      ends.set(true);
    }
    for (Thread each : clients) {
      each.join();
    }
    assertThat(failures).isEmpty();
  }

  private void ask(Router router, String word, AtomicInteger answered, Queue<String> failures) {
    try {
      HttpResponse<String> answer = post(router.url() + CHAT, body(word));
      if (answer.statusCode() == 200) {
        answered.incrementAndGet();
      } else {
        failures.add(answer.statusCode() + " " + answer.body());
      }
    } catch (Exception e) {
      failures.add(e.toString());
    }
  }

  /** The same engines as workers for whole requests. */
  private PointsmanConfig plain() {
    StringBuilder workers = new StringBuilder();
    prefill.forEach(each -> workers.append("  - {url: '" + each.url() + "'}\n"));
    decode.forEach(each -> workers.append("  - {url: '" + each.url() + "'}\n"));
    return PointsmanConfig.from(
        YamlConfig.parse(
            "test",
            """
            listen: {port: 0}
            metrics: {port: 0}
            admin: {port: 0}
            health: {first-retry: 10ms}
            workers:
            """
                + workers));
  }

  private String series(Router router) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(String.valueOf(router.metricsUrl()))).build();
    return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  @Test
  void aRequestEndsByTheProtocolWithWhichItBegan() throws Exception {
    PointsmanConfig nixl = config("protocol: nixl");
    Router router = started(nixl);
    prefills = new CountDownLatch(1);
    CompletableFuture<HttpResponse<String>> inProgress =
        http.sendAsync(
            HttpRequest.newBuilder(URI.create(router.url() + CHAT))
                .POST(HttpRequest.BodyPublishers.ofString(body("a")))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    Await.until("a prefill", () -> posts(prefill).size() == 1);

    PointsmanConfig transparent = config("protocol: transparent");
    router.change(nixl, transparent);
    prefills.countDown();

    assertThat(inProgress.get().statusCode()).isEqualTo(200);
    assertThat(posts(decode)).hasSize(1);
    assertThat(posts(decode).getFirst().bodyText()).contains("\"remote_engine_id\":\"e1\"");

    assertThat(post(router.url() + CHAT, body("b")).statusCode()).isEqualTo(200);
    assertThat(posts(prefill)).hasSize(2);
    assertThat(posts(decode)).hasSize(2);
    assertThat(posts(prefill))
        .filteredOn(each -> each.bodyText().contains("do_remote_decode"))
        .hasSize(1);
    assertThat(posts(decode))
        .filteredOn(each -> each.bodyText().contains("remote_engine_id"))
        .hasSize(1);
    JsonNode plan = decided(router, "c", "\"reserve\":false").path("plan");
    assertThat(plan.toString()).contains("transparent");
  }

  @Test
  void timeoutsOfStagesCountForLaterRequests() throws Exception {
    PointsmanConfig slow = config("protocol: nixl");
    Router router = started(slow);
    prefills = new CountDownLatch(1);

    router.change(slow, config("protocol: nixl, prefill-timeout: 200ms"));

    // Both prefill workers are silent, so a decode worker serves the whole request.
    assertThat(post(router.url() + CHAT, body("a")).statusCode()).isEqualTo(200);
    assertThat(posts(decode)).hasSize(1);
    assertThat(posts(decode).getFirst().bodyText()).doesNotContain("remote_engine_id");
  }

  @Test
  void aChangeThatFailsKeepsTheStages() throws Exception {
    PointsmanConfig before = config("protocol: nixl");
    Router router = started(before);

    assertThatThrownBy(
            () ->
                router.change(
                    before, config("protocol: nixl, threshold: 100000, decode-policy: no.Such")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("no.Such");

    assertThat(decided(router, "a", "\"reserve\":false").path("split").asText()).isEqualTo("split");
  }

  /** Each prompt finds the workers that have it, although another policy decides now. */
  @Test
  void prefixesOfBothRolesSurviveOtherPolicies() throws Exception {
    PointsmanConfig before =
        config("protocol: nixl, prefill-policy: cache_aware, decode-policy: cache_aware");
    Router router = started(before);
    List<String> placed = placements(router, "\"reserve\":false");
    // Both workers of each role have prompts, or a policy without knowledge could seem right.
    assertThat(placed.stream().map(each -> each.split(" ", -1)[0]).distinct()).hasSize(2);
    assertThat(placed.stream().map(each -> each.split(" ", -1)[1]).distinct()).hasSize(2);

    PointsmanConfig cost = config("protocol: nixl, prefill-policy: cost, decode-policy: cost");
    router.change(before, cost);
    assertThat(placements(router, "\"dry_run\":true")).isEqualTo(placed);

    PointsmanConfig later =
        config(
            "protocol: nixl, prefill-policy: cache_aware, decode-policy: cache_aware,"
                + " threshold: 3");
    router.change(cost, later);
    assertThat(placements(router, "\"dry_run\":true")).isEqualTo(placed);
  }

  /** The prefill and decode workers of sixteen prompts. */
  private List<String> placements(Router router, String how) throws Exception {
    List<String> all = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      JsonNode decision = decided(router, "word" + i, how);
      all.add(
          decision.path("prefill").path("id").asText()
              + " "
              + decision.path("decode").path("id").asText());
    }
    return all;
  }
}
