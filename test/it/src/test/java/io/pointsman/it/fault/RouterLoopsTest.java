package io.pointsman.it.fault;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Routers that are workers of themselves, or of each other. */
@SuppressWarnings("try") // an engine ends before its block
@Timeout(180)
final class RouterLoopsTest {
  private static final String VIA = "x-pointsman-via";
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY =
      "{\"model\":\"sim\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
  private static final Pattern ID = Pattern.compile("[0-9a-f]{16}");

  private static RunningRouter router(String... workers) {
    return RunningRouter.start(
        "listen: {port: 0}\nmetrics: {port: 0}\npolicy: round_robin\n"
            + "health: {interval: 200ms, models-interval: 1s}\nworkers: ["
            + String.join(", ", workers)
            + "]\n");
  }

  private static String url(RunningRouter router) {
    return "http://127.0.0.1:" + router.port();
  }

  private static void add(RunningRouter to, RunningRouter worker) throws IOException {
    HttpAnswer added =
        RawClient.call(to.port(), "POST", "/workers", "{\"url\":\"" + url(worker) + "\"}");
    assertThat(added.status()).as(added.text()).isBetween(200, 202);
  }

  private static HttpAnswer send(
      RunningRouter to, String method, String target, String body, String... headers)
      throws IOException {
    try (RawClient client = RawClient.connect(to.port())) {
      return client.send(method, target, body.getBytes(UTF_8), List.of(headers)).read();
    }
  }

  private static String id(RunningRouter router) throws IOException {
    HttpAnswer answer = send(router, "GET", "/health", "", VIA + ": 0");
    return String.valueOf(answer.header("x-pointsman-router"));
  }

  private static String reason(RunningRouter router, String url) {
    for (Worker worker : router.workers()) {
      if (worker.spec().url().equals(url)) {
        return worker.health().healthy() ? "" : worker.health().reason();
      }
    }
    return "";
  }

  @Test
  void aRouterInItsOwnListIsOutWithTheReason() throws IOException {
    try (SimEngine engine = SimEngine.start(SimConfig.DEFAULT);
        RunningRouter router = router(engine.url())) {
      WaitFor.until("the engine", WaitFor.LONG, router::allHealthy);
      // The answer waits for the worker's first good probe, which does not come.
      RawClient adding = RawClient.connect(router.port());
      adding.send("POST", "/workers", "{\"url\":\"" + url(router) + "\"}");
      WaitFor.until(
          "the reason",
          WaitFor.LONG,
          () -> reason(router, url(router)).contains("is this router itself"));
      adding.close();
      for (int i = 0; i < 4; i++) {
        assertThat(RawClient.call(router.port(), "POST", CHAT, BODY).status()).isEqualTo(200);
      }
      assertThat(RawClient.call(router.port(), "GET", "/workers", "").text())
          .contains("is this router itself");
    }
  }

  @Test
  void routersThatNameEachOtherAreOutWithoutAnEngine() throws IOException {
    String list = "{\"data\":[{\"id\":\"sim\"}]}";
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Answer(200, list));
        RunningRouter first = router(engine.url());
        RunningRouter second = router()) {
      add(first, second);
      add(second, first);
      WaitFor.until("second's worker", WaitFor.LONG, second::allHealthy);
      assertThat(RawClient.call(second.port(), "POST", CHAT, BODY).status()).isEqualTo(200);
      WaitFor.until(
          "the reason", WaitFor.LONG, () -> reason(first, url(second)).contains("lead back"));

      engine.close();

      WaitFor.until(
          "the reason", WaitFor.LONG, () -> reason(second, url(first)).contains("lead back"));
      assertThat(RawClient.call(first.port(), "POST", CHAT, BODY).status()).isEqualTo(503);
      assertThat(RawClient.call(second.port(), "POST", CHAT, BODY).status()).isEqualTo(503);
    }
  }

  /** No router of the circle is a worker of its own worker. */
  @ParameterizedTest
  @ValueSource(ints = {3, 5})
  void aCircleOfRoutersIsOutWhileItHasNoEngine(int size) throws IOException {
    AtomicBoolean down = new AtomicBoolean();
    Faults.Answer list = new Faults.Answer(200, "{\"data\":[{\"id\":\"sim\"}]}");
    Faults.Answer fault = new Faults.Answer(500, "{}");
    List<RunningRouter> routers = new ArrayList<>();
    try (ScriptedEngine engine =
        ScriptedEngine.start(
            (request, connection) -> (down.get() ? fault : list).answer(request, connection))) {
      routers.add(router(engine.url()));
      for (int i = 1; i < size; i++) {
        routers.add(router(url(routers.getLast())));
      }
      add(routers.getFirst(), routers.getLast());
      RunningRouter far = routers.get(1);
      WaitFor.until(
          "all workers", WaitFor.LONG, () -> routers.stream().allMatch(RunningRouter::allHealthy));
      assertThat(RawClient.call(far.port(), "POST", CHAT, BODY).status()).isEqualTo(200);

      down.set(true);

      for (int i = 0; i < size; i++) {
        RunningRouter of = routers.get(i);
        String next = url(routers.get((i + size - 1) % size));
        WaitFor.until("the reason", WaitFor.LONG, () -> reason(of, next).contains("lead back"));
      }
      for (RunningRouter each : routers) {
        assertThat(RawClient.call(each.port(), "POST", CHAT, BODY).status()).isEqualTo(503);
      }

      down.set(false);

      WaitFor.until(
          "all workers again",
          WaitFor.LONG,
          () -> routers.stream().allMatch(RunningRouter::allHealthy));
      assertThat(RawClient.call(far.port(), "POST", CHAT, BODY).status()).isEqualTo(200);
    } finally {
      routers.reversed().forEach(RunningRouter::close);
    }
  }

  @Test
  void aModelsListNamesNoModelThatOnlyTheAskingRouterServes() throws IOException {
    try (SimEngine one = SimEngine.start(SimConfig.DEFAULT.withModels("one"));
        SimEngine two = SimEngine.start(SimConfig.DEFAULT.withModels("two"));
        RunningRouter first = router(one.url());
        RunningRouter second = router(two.url())) {
      add(first, second);
      add(second, first);
      WaitFor.until("all workers", WaitFor.LONG, () -> first.allHealthy() && second.allHealthy());
      WaitFor.until(
          "the models of both",
          WaitFor.LONG,
          () -> models(second).contains("one") && models(second).contains("two"));

      String toFirst = send(second, "GET", "/v1/models", "", VIA + ": " + id(first)).text();

      assertThat(toFirst).contains("two").doesNotContain("one");
    }
  }

  private static String models(RunningRouter router) {
    try {
      return RawClient.call(router.port(), "GET", "/v1/models", "").text();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"own", "many", "own among others"})
  void aRequestThatWentInACircleGets508OnEveryPath(String kind) throws IOException {
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Answer(200, "{}"));
        RunningRouter router = router(engine.url())) {
      WaitFor.until("the engine", WaitFor.LONG, router::allHealthy);
      String own = id(router);
      assertThat(own).matches(ID);
      String via =
          switch (kind) {
            case "own" -> own;
            case "many" -> "1, 2, 3, 4, 5, 6, 7, 8, 9";
            default -> "a," + own + " , b";
          };
      List<String> lines = List.of("POST " + CHAT, "GET /v1/models", "GET /health", "GET /other");
      for (String line : lines) {
        String[] parts = line.split(" ", 2);
        String body = parts[0].equals("POST") ? BODY : "";
        HttpAnswer answer = send(router, parts[0], parts[1], body, VIA + ": " + via);
        assertThat(answer.status()).as(line).isEqualTo(508);
        assertThat(answer.text()).contains("\"code\":\"routing_loop\"");
        assertThat(answer.header("x-should-retry")).isEqualTo("false");
      }
      HttpAnswer socket =
          send(
              router,
              "GET",
              "/v1/realtime?model=sim",
              "",
              VIA + ": " + via,
              "connection: upgrade",
              "upgrade: websocket",
              "sec-websocket-version: 13",
              "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==");
      assertThat(socket.status()).isEqualTo(508);
      HttpAnswer anthropic = send(router, "POST", "/v1/messages", BODY, VIA + ": " + via);
      assertThat(anthropic.status()).isEqualTo(508);
      assertThat(anthropic.text()).startsWith("{\"type\":\"error\"");
      assertThat(engine.requests()).noneMatch(request -> request.line().startsWith("POST"));
    }
  }

  @Test
  void everyRequestToAnEngineNamesTheRouterBeforeEarlierOnes() throws IOException {
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Answer(200, "{\"id\":\"r1\"}"));
        RunningRouter router = router(engine.url())) {
      WaitFor.until("the engine", WaitFor.LONG, router::allHealthy);
      String own = id(router);
      List<String> sent = new ArrayList<>();
      for (String target : List.of(CHAT, "/v1/responses", "/v1/embeddings", "/v1/messages")) {
        send(router, "POST", target, BODY);
        sent.add("POST " + target);
      }
      send(router, "GET", "/v1/responses/r1", "");
      sent.add("GET /v1/responses/r1");
      send(
          router, "GET", "/v1/realtime?model=sim", "", "connection: upgrade", "upgrade: websocket");
      sent.add("GET /v1/realtime");
      send(router, "POST", "/flush_cache", "");
      sent.add("POST /flush_cache");
      sent.add("GET /health");
      sent.add("GET /v1/models");
      for (String line : sent) {
        assertThat(engine.requests())
            .filteredOn(request -> request.line().startsWith(line))
            .as(line)
            .isNotEmpty()
            .allSatisfy(request -> assertThat(request.values(VIA)).containsExactly(own));
      }

      for (String target : List.of(CHAT, "/flush_cache")) {
        send(router, "POST", target, BODY, VIA + ": a, b", "x-pointsman-worker: evil");
        EngineRequest last =
            engine.requests().stream()
                .filter(request -> request.line().startsWith("POST " + target))
                .reduce((_, next) -> next)
                .orElseThrow();
        assertThat(last.values(VIA)).containsExactly(own + ", a, b");
        assertThat(last.values("x-pointsman-worker")).isEmpty();
      }
    }
  }

  @Test
  void aLoopAtAnotherRouterIsNoFailureOfTheWorkerAndNotRetried() throws IOException {
    String loop = "{\"error\":{\"code\":\"routing_loop\"}}";
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Answer(200, "{}"));
        RunningRouter router = router(engine.url())) {
      WaitFor.until("the engine", WaitFor.LONG, router::allHealthy);
      engine.now(
          (request, connection) ->
              (request.line().startsWith("POST")
                      ? new Faults.Answer(508, loop)
                      : new Faults.Answer(200, "{}"))
                  .answer(request, connection));
      for (int i = 0; i < 12; i++) {
        HttpAnswer answer = send(router, "POST", CHAT, BODY);
        assertThat(answer.status()).isEqualTo(508);
        assertThat(answer.text()).isEqualTo(loop);
      }
      assertThat(engine.requests())
          .filteredOn(request -> request.line().startsWith("POST"))
          .hasSize(12);
      assertThat(router.workers()).allMatch(worker -> worker.failures() == 0);
    }
  }

  @Test
  void anotherWorkerServesARequestThatARouterRefusesAsALoop() throws IOException {
    try (ScriptedEngine loop = ScriptedEngine.start(new Faults.Answer(200, "{}"));
        ScriptedEngine good = ScriptedEngine.start(new Faults.Answer(200, "{}"));
        RunningRouter router = router(loop.url(), good.url())) {
      WaitFor.until("the engines", WaitFor.LONG, router::allHealthy);
      loop.now(
          (request, connection) ->
              new Faults.Answer(request.line().startsWith("POST") ? 508 : 200, "{}")
                  .answer(request, connection));
      for (int i = 0; i < 12; i++) {
        assertThat(send(router, "POST", CHAT, BODY).status()).isEqualTo(200);
      }
      assertThat(loop.requests()).anyMatch(request -> request.line().startsWith("POST"));
      assertThat(router.workers()).allMatch(worker -> worker.failures() == 0);
    }
  }

  @Test
  void noRouterGetsARequestThatItHasSentOn() throws IOException {
    try (SimEngine one = SimEngine.start(SimConfig.DEFAULT);
        SimEngine two = SimEngine.start(SimConfig.DEFAULT);
        RunningRouter first = router(one.url());
        RunningRouter second = router(two.url())) {
      add(first, second);
      add(second, first);
      WaitFor.until(
          "all workers and ids",
          WaitFor.LONG,
          () ->
              first.allHealthy()
                  && second.allHealthy()
                  && knowsRouter(first)
                  && knowsRouter(second));
      for (int i = 0; i < 16; i++) {
        assertThat(send(first, "POST", CHAT, BODY).status()).isEqualTo(200);
        assertThat(send(second, "POST", CHAT, BODY).status()).isEqualTo(200);
      }
    }
  }

  private static boolean knowsRouter(RunningRouter router) {
    return router.workers().stream().anyMatch(worker -> worker.probes().router() != null);
  }

  @Test
  void aRequestGets508IfItHasPassedAllWorkers() throws IOException {
    String id = "00000000000000aa";
    try (ScriptedEngine passed =
            ScriptedEngine.start(
                new Faults.Raw(
                    "HTTP/1.1 200 OK\r\nx-pointsman-router: "
                        + id
                        + "\r\ncontent-length: 2\r\n\r\n{}"));
        RunningRouter router = router(passed.url())) {
      WaitFor.until("the id", WaitFor.LONG, () -> router.allHealthy() && knowsRouter(router));

      HttpAnswer refused = send(router, "POST", CHAT, BODY, VIA + ": " + id);
      HttpAnswer stored = send(router, "GET", "/v1/responses/r1", "", VIA + ": b, " + id);

      for (HttpAnswer answer : List.of(refused, stored)) {
        assertThat(answer.status()).isEqualTo(508);
        assertThat(answer.text()).contains("\"code\":\"routing_loop\"");
        assertThat(answer.header("x-should-retry")).isEqualTo("false");
      }
      assertThat(send(router, "POST", CHAT, BODY, VIA + ": b").status()).isEqualTo(200);
      assertThat(passed.requests())
          .filteredOn(request -> request.line().startsWith("POST"))
          .hasSize(1);
    }
  }
}
