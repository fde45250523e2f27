package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Settings that change while the router runs, seen over HTTP. */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before each test
class ChangedConfigTest {
  private static final String CHAT = "/v1/chat/completions";

  @TempDir Path directory;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private ScriptedEngine one;
  private ScriptedEngine two;
  private ScriptedEngine three;

  @BeforeEach
  void start() throws Exception {
    one = engine();
    two = engine();
    three = engine();
  }

  private ScriptedEngine engine() throws Exception {
    ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
    opened.push(engine);
    return engine;
  }

  @AfterEach
  void close() throws Exception {
    http.shutdownNow();
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private static PointsmanConfig config(String more) {
    String yaml =
        """
        listen: {port: 0}
        metrics: {port: 0}
        admin: {port: 0}
        """;
    String health = more.contains("health:") ? "" : "health: {first-retry: 10ms}\n";
    return PointsmanConfig.from(YamlConfig.parse("test", yaml + health + more));
  }

  private Router started(PointsmanConfig config, int healthy) {
    Router router = Router.start(config, "test");
    opened.push(router);
    Await.until("healthy", () -> healthy(router) == healthy);
    return router;
  }

  private HttpResponse<String> call(String method, String url, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }

  private int chat(Router router, String model) throws Exception {
    String body = "{\"model\":\"" + model + "\",\"messages\":[]}";
    return call("POST", router.url() + CHAT, body).statusCode();
  }

  private static long served(ScriptedEngine engine) {
    return engine.requests().stream().filter(each -> each.line().startsWith("POST ")).count();
  }

  @Test
  void listenersMoveToOtherAddresses() throws Exception {
    String workers = "policy: round_robin\nworkers: ['" + one.url() + "']\n";
    PointsmanConfig before = config(workers);
    Router router = started(before, 1);
    List<String> old =
        List.of(router.url(), router.adminUrl(), String.valueOf(router.metricsUrl()));
    assertThat(call("GET", router.url() + "/health", "").statusCode()).isEqualTo(200);

    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      for (String group : List.of("listen", "admin", "metrics")) {
        PointsmanConfig refused = moved(workers, group, taken.getLocalPort());
        assertThatThrownBy(() -> router.change(before, refused))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining(":" + taken.getLocalPort() + ": Address already in use");
      }
    }
    assertThat(router.url()).isEqualTo(old.getFirst());
    assertThat(call("GET", router.url() + "/health", "").statusCode()).isEqualTo(200);

    PointsmanConfig next = before;
    for (String group : List.of("listen", "admin", "metrics")) {
      int free;
      try (ServerSocket found = new ServerSocket(0)) {
        free = found.getLocalPort();
      }
      router.change(next, moved(workers, group, free));
      next = moved(workers, group, free);
      // The other listeners got "port 0" again, which is another address.
      assertThat(port(router, group)).isEqualTo(free);
      assertThat(call("GET", router.url() + "/health", "").statusCode()).isEqualTo(200);
      assertThat(call("GET", router.adminUrl() + "/workers", "").statusCode()).isEqualTo(200);
      assertThat(call("GET", String.valueOf(router.metricsUrl()), "").statusCode()).isEqualTo(200);
    }
    HttpClient fresh = HttpClient.newHttpClient();
    for (String url : old) {
      HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
      assertThatThrownBy(() -> fresh.send(request, HttpResponse.BodyHandlers.ofString()))
          .isInstanceOf(ConnectException.class);
    }
  }

  private static int port(Router router, String group) {
    String url =
        switch (group) {
          case "listen" -> router.url();
          case "admin" -> router.adminUrl();
          default -> String.valueOf(router.metricsUrl());
        };
    return URI.create(url).getPort();
  }

  private static PointsmanConfig moved(String more, String group, int port) {
    StringBuilder yaml = new StringBuilder("health: {first-retry: 10ms}\n" + more);
    for (String each : List.of("listen", "admin", "metrics")) {
      yaml.append(each + ": {port: " + (each.equals(group) ? port : 0) + "}\n");
    }
    return PointsmanConfig.from(YamlConfig.parse("test", yaml.toString()));
  }

  @Test
  void aRouterThatStopsRefusesChanges() {
    PointsmanConfig config = config("workers: ['" + one.url() + "']\n");
    Router router = started(config, 1);
    router.close();
    assertThatThrownBy(() -> router.change(config, config))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("the router stops");
  }

  @Test
  void aCaptureThatIsRefusedWithOtherKeysLeavesItsFile() throws Exception {
    Path file = Files.writeString(directory.resolve("kept.jsonl"), "before\n");
    String workers = "policy: round_robin\nworkers: ['" + one.url() + "']\n";
    PointsmanConfig before = config(workers);
    Router router = started(before, 1);
    String capture = workers + "capture: {file: '" + file + "'}\n";
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      PointsmanConfig refused = moved(capture, "listen", taken.getLocalPort());
      assertThatThrownBy(() -> router.change(before, refused))
          .isInstanceOf(IllegalArgumentException.class);
    }
    assertThat(Files.readString(file)).isEqualTo("before\n");
  }

  @Test
  void theMeaningOfHealthChanges() throws Exception {
    String workers = "workers: ['" + one.url() + "', 'http://127.0.0.1:1']\n";
    PointsmanConfig before = config(workers + "health: {first-retry: 10ms}\n");
    Router router = started(before, 1);
    assertThat(call("GET", router.url() + "/health", "").statusCode()).isEqualTo(200);

    router.change(before, config(workers + "health: {first-retry: 10ms, answer: all}\n"));

    assertThat(call("GET", router.url() + "/health", "").statusCode()).isEqualTo(503);
  }

  @Test
  void requestsForUnknownModelsGoToAnyWorker() throws Exception {
    String workers = "policy: round_robin\nworkers: ['" + one.url() + "']\n";
    PointsmanConfig before = config(workers);
    Router router = started(before, 1);
    assertThat(chat(router, "other")).isEqualTo(404);

    PointsmanConfig next = config(workers + "unknown-model: any-worker\n");
    router.change(before, next);
    assertThat(chat(router, "other")).isEqualTo(200);

    PointsmanConfig base = config(workers + "unknown-model: base-model\n");
    router.change(next, base);
    assertThat(chat(router, "other")).isEqualTo(404);
    assertThat(chat(router, "m:adapter")).isEqualTo(200);
  }

  @Test
  void requestsGoToWorkersOfTheNewZone() throws Exception {
    String workers =
        "policy: round_robin\nworkers: [{url: '%s', zone: a}, {url: '%s', zone: b}]\n"
            .formatted(one.url(), two.url());
    PointsmanConfig before = config(workers + "locality: {zone: a}\n");
    Router router = started(before, 2);
    for (int i = 0; i < 4; i++) {
      assertThat(chat(router, "m")).isEqualTo(200);
    }
    assertThat(served(two)).isZero();

    router.change(before, config(workers + "locality: {zone: b}\n"));

    for (int i = 0; i < 4; i++) {
      assertThat(chat(router, "m")).isEqualTo(200);
    }
    assertThat(served(one)).isEqualTo(4);
    assertThat(served(two)).isEqualTo(4);
  }

  @Test
  void decisionsAreKeptFromTheChangeOn() throws Exception {
    String common = "policy: cost\nworkers: ['" + one.url() + "']\n";
    PointsmanConfig before = config(common + "decisions: {sample: 0}\n");
    Router router = started(before, 1);
    assertThat(chat(router, "m")).isEqualTo(200);
    String decisions = router.adminUrl() + "/decisions";
    assertThat(call("GET", decisions, "").body()).doesNotContain("\"reason\":");

    router.change(before, config(common + "decisions: {sample: 1}\n"));

    assertThat(chat(router, "m")).isEqualTo(200);
    assertThat(call("GET", decisions, "").body()).contains("\"reason\":");
  }

  @Test
  void theShadowPolicyBeginsChangesAndEnds() throws Exception {
    String common = "policy: round_robin\nworkers: ['" + one.url() + "', '" + two.url() + "']\n";
    PointsmanConfig without = config(common);
    Router router = started(without, 2);
    String shadow = router.adminUrl() + "/shadow";
    assertThat(call("GET", shadow, "").statusCode()).isEqualTo(404);

    PointsmanConfig least = config(common + "shadow-policy: least_load\n");
    router.change(without, least);
    awaitShadow(router, "least_load", 0);
    assertThat(chat(router, "m")).isEqualTo(200);
    awaitShadow(router, "least_load", 1);

    PointsmanConfig wrong = config(common + "shadow-policy: no.such.Policy\n");
    assertThatThrownBy(() -> router.change(least, wrong))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("no.such.Policy");
    awaitShadow(router, "least_load", 1);

    PointsmanConfig other = config(common + "shadow-policy: random\n");
    router.change(least, other);
    awaitShadow(router, "random", 0);
    assertThat(chat(router, "m")).isEqualTo(200);
    awaitShadow(router, "random", 1);
    String page = call("GET", router.adminUrl() + "/activity", "").body();
    assertThat(page).contains("\"shadow_policy\":\"random\"");

    router.change(other, without);
    assertThat(call("GET", shadow, "").statusCode()).isEqualTo(404);
    assertThat(chat(router, "m")).isEqualTo(200);
  }

  private void awaitShadow(Router router, String policy, int requests) {
    Await.until(
        policy + " after " + requests,
        () -> {
          try {
            JsonNode report =
                new ObjectMapper().readTree(call("GET", router.adminUrl() + "/shadow", "").body());
            return report.path("shadow").path("policy").asText().equals(policy)
                && report.path("shadow").path("requests").asInt() == requests;
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        });
  }

  @Test
  void theCaptureBeginsChangesItsFileAndEnds() throws Exception {
    Path first = directory.resolve("first.jsonl");
    Path second = directory.resolve("second.jsonl");
    String common = "policy: round_robin\nworkers: ['" + one.url() + "']\n";
    PointsmanConfig without = config(common);
    Router router = started(without, 1);
    assertThat(text(router, 1)).isEqualTo(200);

    PointsmanConfig toFirst = config(common + "capture: {file: '" + first + "'}\n");
    router.change(without, toFirst);
    assertThat(text(router, 2)).isEqualTo(200);
    Await.until("one line", () -> lines(first) == 1);

    PointsmanConfig nowhere = config(common + "capture: {file: '" + first + "/below'}\n");
    assertThatThrownBy(() -> router.change(toFirst, nowhere))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("capture.file: cannot be written to: ");
    assertThat(text(router, 3)).isEqualTo(200);
    Await.until("two lines", () -> lines(first) == 2);

    PointsmanConfig toSecond = config(common + "capture: {file: '" + second + "'}\n");
    router.change(toFirst, toSecond);
    assertThat(text(router, 4)).isEqualTo(200);
    Await.until("a line of the second", () -> lines(second) == 1);

    router.change(toSecond, without);
    assertThat(text(router, 5)).isEqualTo(200);
    assertThat(lines(first)).isEqualTo(2);
    assertThat(lines(second)).isEqualTo(1);
  }

  private int text(Router router, int number) throws Exception {
    String body =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\""
            + ("word" + number + " ").repeat(200)
            + "\"}]}";
    return call("POST", router.url() + CHAT, body).statusCode();
  }

  private static int lines(Path file) {
    try {
      return Files.exists(file) ? Files.readAllLines(file).size() : 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void enginesAreAskedForTheirLoadFromTheChangeOn() {
    String common = "policy: round_robin\nworkers: ['" + one.url() + "']\n";
    PointsmanConfig before = config(common);
    Router router = started(before, 1);

    router.change(before, config(common + "engine-load: {interval: 100ms}\n"));

    Await.until(
        "several questions",
        () ->
            one.requests().stream().filter(each -> each.line().startsWith("GET /metrics ")).count()
                > 3);
  }

  @Test
  void sleepingEnginesAreWokenFromTheChangeOn() throws Exception {
    AtomicBoolean asleep = new AtomicBoolean(true);
    Faults.Healthy healthy = new Faults.Healthy("m", Faults.Answer.ok());
    ScriptedEngine sleeper =
        ScriptedEngine.start(
            (request, connection) -> {
              if (request.line().startsWith("GET /is_sleeping ")) {
                String state = "{\"is_sleeping\":" + asleep + "}";
                connection.reply(200, "application/json", state);
              } else if (request.line().startsWith("POST /wake_up ")) {
                asleep.set(false);
                connection.reply(200, "application/json", "{}");
              } else {
                healthy.answer(request, connection);
              }
            });
    opened.push(sleeper);
    String common = "policy: round_robin\nworkers: ['" + sleeper.url() + "']\n";
    PointsmanConfig before = config(common + "queue: {defer-without-worker: 1m}\n");
    Router router = started(before, 1);
    Await.until("asleep", () -> router.fleet().snapshot().workers().getFirst().asleep());

    router.change(
        before, config(common + "queue: {defer-without-worker: 1m, wake-sleeping: true}\n"));

    assertThat(chat(router, "m")).isEqualTo(200);
    assertThat(asleep).isFalse();
  }

  @Test
  void workersOfAnotherFileReplaceThoseOfTheFirst() throws Exception {
    Path first = Files.writeString(directory.resolve("a.yaml"), list(one, two));
    Path second = Files.writeString(directory.resolve("b.yaml"), list(two, three));
    PointsmanConfig before = config("policy: round_robin\ndiscovery: {file: '" + first + "'}\n");
    Router router = started(before, 2);
    Worker kept = router.fleet().snapshot().worker(two.id());

    PointsmanConfig next = config("policy: round_robin\ndiscovery: {file: '" + second + "'}\n");
    router.change(before, next);

    Await.until("the second file", () -> ids(router).equals(Set.of(two.id(), three.id())));
    assertThat(router.fleet().snapshot().worker(two.id())).isSameAs(kept);

    router.change(next, config("policy: round_robin\n"));
    assertThat(ids(router)).isEmpty();
  }

  private static String bounded(int most, ScriptedEngine... engines) {
    return "max-workers: " + most + "\nshadow-policy: least_load\nworkers:\n" + list(engines);
  }

  @Test
  void theMaximumOfWorkersChangesWithTheWorkers() throws Exception {
    PointsmanConfig before = config(bounded(1, one));
    Router router = started(before, 1);
    Worker kept = router.fleet().snapshot().worker(one.id());

    PointsmanConfig more = config(bounded(3, one, two, three));
    router.change(before, more);
    assertThat(ids(router)).isEqualTo(Set.of(one.id(), two.id(), three.id()));
    Await.until("all serve", () -> healthy(router) == 3);
    assertThat(router.fleet().snapshot().worker(one.id())).isSameAs(kept);
    assertThat(chat(router, "m")).isEqualTo(200);

    PointsmanConfig wrong = config(bounded(2, one, two, three));
    assertThatThrownBy(() -> router.change(more, wrong))
        .hasMessage("max-workers: 2 (expected: at least 3, the workers now)");
    assertThat(healthy(router)).isEqualTo(3);

    // The last worker has the highest slot.
    PointsmanConfig less = config(bounded(1, three));
    router.change(more, less);
    assertThat(ids(router)).isEqualTo(Set.of(three.id()));
    three.forget();
    assertThat(chat(router, "m")).isEqualTo(200);
    assertThat(served(three)).isEqualTo(1);
    assertThatThrownBy(() -> router.fleet().add(WorkerSpec.of(one.url())))
        .hasMessageContaining("at most 1");
  }

  /** The slots of the first maximum remain. */
  @Test
  void aHighMaximumOfWorkersComesBack() throws Exception {
    PointsmanConfig high = config(bounded(20_000, one));
    PointsmanConfig low = config(bounded(100, one));
    Router router = started(high, 1);
    router.change(high, low);
    router.change(low, high);
    assertThat(healthy(router)).isEqualTo(1);
    assertThatThrownBy(() -> router.change(high, config(bounded(20_001, one))))
        .hasMessage("configuration: needs a restart");
  }

  @Test
  void workersComeBackAfterAFailureBelowALowerMaximum() throws Exception {
    PointsmanConfig before = config(bounded(3, one, two));
    Router router = started(before, 2);
    PointsmanConfig next = config(bounded(1, three));

    assertThatThrownBy(
            () -> router.change(before, next, List.of(), ChangedConfigTest::withoutEvents))
        .isInstanceOf(ReloadFailedException.class)
        .hasMessage("kv-events: broken")
        .hasNoSuppressedExceptions();

    assertThat(ids(router)).isEqualTo(Set.of(one.id(), two.id()));
    router.fleet().add(WorkerSpec.of(three.url()));
  }

  private static ChangePart withoutEvents(ChangePart each) {
    Runnable fails =
        () -> {
          throw new IllegalStateException("broken");
        };
    return each.name().equals("kv-events")
        ? new ChangePart(each.name(), fails, each.undo(), each.drop(), each.finish())
        : each;
  }

  private static long healthy(Router router) {
    return router.fleet().snapshot().workers().stream()
        .filter(worker -> worker.health().healthy() && !worker.models().isEmpty())
        .count();
  }

  private static String list(ScriptedEngine... engines) {
    StringBuilder text = new StringBuilder();
    for (ScriptedEngine each : engines) {
      text.append("- ").append(each.url()).append('\n');
    }
    return text.toString();
  }

  private static Set<String> ids(Router router) {
    Set<String> ids = new HashSet<>();
    router.fleet().snapshot().workers().forEach(worker -> ids.add(worker.id()));
    return ids;
  }

  @Test
  void prefillWorkersAreChosenByTheNewPolicy() throws Exception {
    String common =
        """
        workers:
          - {url: '%s', role: prefill}
          - {url: '%s', role: prefill}
          - {url: '%s', role: decode}
        disaggregation: {protocol: nixl, cached-share: 2, prefill-policy: %s}
        """;
    PointsmanConfig before =
        config(common.formatted(one.url(), two.url(), three.url(), "round_robin"));
    Router router = started(before, 3);
    assertThat(prefills(router)).containsExactlyInAnyOrder(one.id(), two.id());

    router.change(
        before, config(common.formatted(one.url(), two.url(), three.url(), "cache_aware")));

    assertThat(prefills(router)).hasSize(1).isSubsetOf(one.id(), two.id());
  }

  /** The prefill workers of eight requests with the same prompt. */
  private Set<String> prefills(Router router) throws Exception {
    String question =
        "{\"path\":\"/v1/chat/completions\",\"reserve\":false,\"body\":"
            + "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\""
            + "words ".repeat(400)
            + "\"}]}}";
    Set<String> chosen = new HashSet<>();
    for (int i = 0; i < 8; i++) {
      HttpResponse<String> answer = call("POST", router.adminUrl() + "/v1/decide", question);
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
      chosen.add(new ObjectMapper().readTree(answer.body()).path("prefill").path("id").asText());
    }
    return chosen;
  }
}
