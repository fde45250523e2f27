package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.ControlledEngine;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Control calls through the router reach every engine that they are meant for. */
@Timeout(180)
final class ControlCallsTest {
  private final List<ControlledEngine> engines = new ArrayList<>();
  private final List<ScriptedEngine> servers = new ArrayList<>();

  @SuppressWarnings("NullAway.Init") // each test starts one
  private RunningRouter router;

  private void start(String base, int count, boolean saysIfItSleeps) throws IOException {
    for (int i = 0; i < count; i++) {
      ControlledEngine engine = new ControlledEngine(base, saysIfItSleeps);
      engines.add(engine);
      servers.add(ScriptedEngine.start(engine));
    }
  }

  private void route(String settings) {
    String urls = servers.stream().map(ScriptedEngine::url).collect(Collectors.joining(", "));
    router =
        RunningRouter.start(
            "workers: ["
                + urls
                + "]\nlisten: {port: 0}\nmetrics: {port: 0}\nlog: {level: warn}\n"
                + settings);
    WaitFor.until("all workers are healthy", WaitFor.LONG, router::allHealthy);
  }

  @AfterEach
  void close() throws IOException {
    if (router != null) {
      router.close();
    }
    for (ScriptedEngine server : servers) {
      server.close();
    }
  }

  private HttpAnswer post(String target, String body) throws IOException {
    return RawClient.call(router.port(), "POST", target, body);
  }

  private int ask(String model) throws IOException {
    return post("/v1/completions", "{\"model\":\"%s\",\"prompt\":\"p\"}".formatted(model)).status();
  }

  private void assertServed(String model, int status) throws IOException {
    for (int i = 0; i < 2 * servers.size(); i++) {
      assertThat(ask(model)).isEqualTo(status);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"reject", "any-worker"})
  void anAdapterIsLoadedEverywhereAndServedAtOnce(String unknownModel) throws Exception {
    start("base", 3, false);
    route("policy: round_robin\nunknown-model: " + unknownModel + "\n");
    HttpAnswer loaded =
        post("/v1/load_lora_adapter", "{\"lora_name\":\"sql\",\"lora_path\":\"/x\"}");
    assertThat(loaded.status()).as(loaded.text()).isEqualTo(200);
    assertThat(engines).allMatch(engine -> engine.adapters().contains("sql"));
    assertServed("sql", 200);
    assertThat(router.workers()).allMatch(worker -> worker.models().contains("sql"));
    for (ScriptedEngine server : servers) {
      assertThat(loaded.text()).contains("\"worker\":\"" + server.id() + "\"");
    }

    assertThat(post("/v1/unload_lora_adapter", "{\"lora_name\":\"sql\"}").status()).isEqualTo(200);
    assertThat(engines).allMatch(engine -> engine.adapters().isEmpty());
    assertServed("sql", 404);
  }

  @Test
  void aMisspeltNameOfWorkersReachesNoEngine() throws Exception {
    start("base", 2, false);
    route("policy: round_robin\n");
    HttpAnswer misspelt = post("/pause?wroker=" + servers.getFirst().id(), "");
    assertThat(misspelt.status()).isEqualTo(400);
    assertThat(misspelt.text()).contains("wroker: unknown query parameter (did you mean worker?)");
    assertThat(post("/sleep?models=base", "").status()).isEqualTo(400);
    assertThat(engines).allMatch(engine -> engine.calls().isEmpty());

    assertThat(post("/pause?mode=keep&clear_cache=false", "").status()).isNotEqualTo(400);
    assertThat(engines).allMatch(engine -> !engine.calls().isEmpty());
  }

  @Test
  void anAdapterOfAFleetWithSeveralModelsNeedsItsBase() throws Exception {
    start("one", 2, false);
    start("two", 1, false);
    route("policy: round_robin\n");
    String body = "{\"lora_name\":\"sql\",\"lora_path\":\"/x\"}";
    HttpAnswer unclear = post("/v1/load_lora_adapter", body);
    assertThat(unclear.status()).isEqualTo(400);
    assertThat(unclear.text()).contains("?model=", "one, two");
    assertThat(post("/v1/load_lora_adapter?model=three", body).status()).isEqualTo(404);
    assertThat(engines).allMatch(engine -> engine.calls().isEmpty());

    assertThat(post("/v1/load_lora_adapter?model=one", body).status()).isEqualTo(200);
    assertThat(engines.subList(0, 2)).allMatch(engine -> engine.adapters().contains("sql"));
    assertThat(engines.get(2).calls()).isEmpty();
    assertThat(engines.getFirst().calls()).containsExactly("/v1/load_lora_adapter");
    assertServed("sql", 200);

    // The adapter is known now, so its removal needs no base.
    assertThat(post("/v1/unload_lora_adapter", "{\"lora_name\":\"sql\"}").status()).isEqualTo(200);
    assertThat(engines).allMatch(engine -> engine.adapters().isEmpty());
    assertThat(engines.get(2).calls()).isEmpty();
  }

  @Test
  void productionStackPutsTheEngineOfAnIdToSleep() throws Exception {
    start("base", 2, true);
    route("policy: round_robin\nadmin: {stack-endpoints: true}\n");
    HttpAnswer list = RawClient.call(router.port(), "GET", "/engines", "");
    JsonNode engine = new ObjectMapper().readTree(list.text()).path(0);
    String id = "?id=" + engine.path("engine_id").asText();

    HttpAnswer slept = post("/sleep" + id + "&level=1", "");
    assertThat(slept.status()).as(slept.text()).isEqualTo(200);
    assertThat(slept.text()).isEqualTo("{\"status\":\"success\"}");
    assertThat(engines.getFirst().calls()).containsExactly("/sleep?level=1");
    assertThat(engines.getLast().calls()).isEmpty();
    assertThat(RawClient.call(router.port(), "GET", "/is_sleeping" + id, "").text())
        .contains("\"is_sleeping\":true");
    assertServed("base", 200);
    assertThat(post("/wake_up" + id, "").text()).isEqualTo("{\"status\":\"success\"}");
    assertThat(engines).noneMatch(ControlledEngine::asleep);

    HttpAnswer nobody = post("/sleep", "");
    assertThat(nobody.status()).isEqualTo(400);
    assertThat(nobody.text())
        .isEqualTo("{\"error\":\"Invalid request: missing target Engine Id.\"}");
    assertThat(post("/sleep?id=x", "").text())
        .isEqualTo("{\"error\":\"Engine with Id x not found.\"}");
    assertThat(engines).noneMatch(ControlledEngine::asleep);
  }

  @ParameterizedTest
  @CsvSource({"/sleep, /wake_up, true", "/sleep, /wake_up, false", "/pause, /resume, false"})
  void sleepingEnginesGetNoWorkUntilTheyWake(String sleep, String wake, boolean says)
      throws Exception {
    start("base", 2, says);
    route("policy: round_robin\n");
    String first = servers.getFirst().id();
    HttpAnswer one = post(sleep + "?level=1&worker=" + first, "");
    assertThat(one.status()).as(one.text()).isEqualTo(200);
    assertThat(engines.getFirst().calls()).containsExactly(sleep + "?level=1");
    assertThat(engines.get(1).calls()).isEmpty();
    assertServed("base", 200);
    assertThat(requests(0)).isZero();

    assertThat(post(sleep + "?level=1", "").status()).isEqualTo(200);
    assertThat(engines).allMatch(ControlledEngine::asleep);
    HttpAnswer none = post("/v1/completions", "{\"model\":\"base\",\"prompt\":\"p\"}");
    assertThat(none.status()).isEqualTo(503);
    assertThat(none.text()).contains("none_available");
    assertThat(none.header("retry-after")).isNotNull();

    assertThat(post(wake, "").status()).isEqualTo(200);
    assertServed("base", 200);
    assertThat(requests(0)).isPositive();
  }

  private long requests(int engine) {
    return servers.get(engine).requests().stream()
        .filter(request -> request.line().startsWith("POST /v1/completions"))
        .count();
  }

  @Test
  void anEngineThatSleepsByItselfIsLeftOut() throws Exception {
    start("base", 2, true);
    route("policy: round_robin\nhealth: {interval: 50ms}\n");
    engines.getFirst().sleep(true);
    Worker first = router.workers().getFirst();
    WaitFor.until("the sleep is seen", WaitFor.LONG, first::asleep);
    assertServed("base", 200);
    assertThat(requests(0)).isZero();
    HttpAnswer states = RawClient.call(router.port(), "GET", "/is_sleeping", "");
    assertThat(states.status()).isEqualTo(200);
    assertThat(states.text()).contains("{\"is_sleeping\":true}", "{\"is_sleeping\":false}");
    engines.getFirst().sleep(false);
    WaitFor.until("the engine is seen awake", WaitFor.LONG, () -> !first.asleep());
    assertServed("base", 200);
    assertThat(requests(0)).isPositive();
  }

  @Test
  void aRestartedEngineIsAwake() throws Exception {
    start("base", 1, false);
    route("policy: round_robin\nhealth: {interval: 50ms}\n");
    assertThat(post("/sleep", "").status()).isEqualTo(200);
    servers.getFirst().stopListening();
    Worker only = router.workers().getFirst();
    WaitFor.until("it is out", WaitFor.LONG, () -> !only.health().healthy());
    engines.getFirst().sleep(false);
    servers.getFirst().listenAgain();
    WaitFor.until("it serves", WaitFor.LONG, () -> only.eligible(System.nanoTime()));
    assertServed("base", 200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/sleep", "/update_weights", "/v1/load_lora_adapter"})
  void aCallThatFailsAtOneEngineFailsWithEachResult(String path) throws Exception {
    start("base", 3, false);
    route("policy: round_robin\n");
    engines.get(1).answerCallsWith(500);
    HttpAnswer answer = post(path, "{\"lora_name\":\"sql\"}");
    assertThat(answer.status()).isEqualTo(502);
    assertThat(answer.text()).contains("\"status\":200", "\"status\":500");
    for (ScriptedEngine server : servers) {
      assertThat(answer.text()).contains(server.id());
    }
    if (path.equals("/sleep")) {
      // It did not fall asleep, so it serves.
      assertServed("base", 200);
    }
  }

  @ParameterizedTest
  @CsvSource({"404, 404", "400, 400", "501, 501", "503, 503", "401, 502", "500, 502"})
  void aRefusalOfAllEnginesKeepsItsStatus(int ofEngines, int status) throws Exception {
    start("base", 2, false);
    route("policy: round_robin\n");
    engines.forEach(engine -> engine.answerCallsWith(ofEngines));
    HttpAnswer answer = post("/update_weights", "{}");
    assertThat(answer.status()).isEqualTo(status);
    assertThat(answer.text()).contains("\"status\":" + ofEngines);

    engines.getFirst().answerCallsWith(409);
    assertThat(post("/update_weights", "{}").status()).isEqualTo(502);
  }

  @Test
  void anUnknownWorkerIsRefused() throws Exception {
    start("base", 1, false);
    route("");
    HttpAnswer answer = post("/sleep?worker=nobody", "");
    assertThat(answer.status()).isEqualTo(404);
    assertThat(answer.text()).contains("worker_not_found");
    assertThat(engines.getFirst().calls()).isEmpty();
  }

  @Test
  void refusedPathsStayRefused() throws Exception {
    start("base", 1, false);
    route("admin: {refused-paths: [/sleep]}\n");
    assertThat(post("/sleep", "").status()).isEqualTo(501);
    assertThat(engines.getFirst().calls()).isEmpty();
  }
}
