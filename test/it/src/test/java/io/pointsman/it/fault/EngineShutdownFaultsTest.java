package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** ENGINE_IS_TERMINATED and ENGINE_SHUTS_DOWN: one of two engines, under load. */
@Timeout(180)
final class EngineShutdownFaultsTest {
  private static final int TOKENS = 400;
  private static final int ROUNDS = 4;

  private static Cluster cluster() throws IOException {
    return Cluster.of(2)
        .engines(e -> e.withLinearLatency(0, 5).withScaleOut(true).withMaxRunning(16))
        .policy("round_robin")
        .set("health.interval", "1s")
        .start();
  }

  private static final Map<String, String> REQUESTS =
      Map.of(
          "/v1/chat/completions",
          "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":" + TOKENS,
          "/v1/completions",
          "\"prompt\":\"a\",\"max_tokens\":" + TOKENS,
          "/v1/messages",
          "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":" + TOKENS,
          "/inference/v1/generate",
          "\"token_ids\":[1,2],\"sampling_params\":{\"max_tokens\":" + TOKENS + "}");

  private static String body(String path, boolean stream) {
    return "{\"model\":\"sim\",\"stream\":" + stream + "," + REQUESTS.get(path) + "}";
  }

  private static Map<RawClient, String> send(Cluster cluster, boolean stream) throws IOException {
    return send(cluster, stream, ROUNDS);
  }

  private static Map<RawClient, String> send(Cluster cluster, boolean stream, int rounds)
      throws IOException {
    Map<RawClient, String> clients = new LinkedHashMap<>();
    for (int i = 0; i < rounds; i++) {
      for (String path : REQUESTS.keySet()) {
        RawClient client = RawClient.connect(cluster.port());
        clients.put(client, path);
        client.send("POST", path, body(path, stream));
      }
    }
    return clients;
  }

  private static void underWay(SimEngine engine, Worker worker) {
    WaitFor.until(
        "under way",
        WaitFor.LONG,
        () -> worker.inFlight() >= REQUESTS.size() && engine.state().sequences().running() > 0);
  }

  /** Clients of answers in one piece see nothing; the worker serves again after its restart. */
  @Test
  void answersInOnePieceComeFromAnotherEngine() throws Exception {
    try (Cluster cluster = cluster()) {
      SimEngine engine = cluster.engine(0);
      Map<RawClient, String> clients = send(cluster, false);
      underWay(engine, cluster.worker(engine));
      engine.terminate(0);
      for (RawClient client : clients.keySet()) {
        HttpAnswer answer = client.read();
        assertThat(answer.status()).as(clients.get(client)).isEqualTo(200);
        assertThat(answer.text()).doesNotContain("\"abort\"").contains("tokens\":" + TOKENS);
        client.close();
      }
      engine.restart();
      cluster.awaitAllServe();
      cluster.awaitQuiet();
    }
  }

  /** A rolling restart of the whole fleet, within the budget of retries: no client sees it. */
  @Test
  @Tag("full")
  void eachOfTwoEnginesThatShutDownInTurnLosesNoAnswer() throws Exception {
    try (Cluster cluster = cluster()) {
      for (int i = 0; i < 2; i++) {
        SimEngine engine = cluster.engine(i);
        Map<RawClient, String> clients = send(cluster, false, 2);
        underWay(engine, cluster.worker(engine));
        engine.terminate(0);
        for (RawClient client : clients.keySet()) {
          HttpAnswer answer = client.read();
          assertThat(answer.status()).as(clients.get(client)).isEqualTo(200);
          assertThat(answer.text()).doesNotContain("\"abort\"").contains("tokens\":" + TOKENS);
          client.close();
        }
        engine.restart();
        cluster.awaitAllServe();
        cluster.awaitQuiet();
      }
    }
  }

  /** Streams with tokens end with an error event, those without any come from another engine. */
  @Test
  @Tag("full")
  void streamsAreServedInFullOrEndWithAnErrorEvent() throws Exception {
    try (Cluster cluster =
        Cluster.of(2)
            .engines(e -> e.withLinearLatency(0, 5).withScaleOut(true).withMaxRunning(4))
            .policy("round_robin")
            .set("health.interval", "1s")
            .start()) {
      SimEngine engine = cluster.engine(0);
      Map<RawClient, String> clients = send(cluster, true);
      WaitFor.until(
          "some wait",
          WaitFor.LONG,
          () ->
              engine.state().sequences().waiting() > 0
                  && engine.state().sequences().running() == 4);
      engine.terminate(0);
      List<String> served = new ArrayList<>();
      List<String> ended = new ArrayList<>();
      for (RawClient client : clients.keySet()) {
        HttpAnswer answer = client.read();
        assertThat(answer.status()).as(clients.get(client)).isEqualTo(200);
        assertThat(answer.complete()).isTrue();
        assertThat(answer.text()).doesNotContain("\"abort\"");
        (answer.text().contains("shut down before") ? ended : served).add(answer.text());
        client.close();
      }
      assertThat(ended).hasSizeBetween(1, 4);
      assertThat(served).hasSize(clients.size() - ended.size());
      assertThat(served)
          .allMatch(text -> text.endsWith("[DONE]\n\n") || text.contains("message_stop"));
      engine.restart();
      cluster.awaitAllServe();
      cluster.awaitQuiet();
    }
  }

  /** Probes succeed all the time. The engine gets no new work, and clients see nothing. */
  @Test
  @Tag("full")
  void anEngineThatAnswers500WhileItShutsDownGetsNoWork() throws Exception {
    try (Cluster cluster = cluster()) {
      SimEngine engine = cluster.engine(0);
      Worker worker = cluster.worker(engine);
      engine.terminate(600_000);
      String body = "{\"model\":\"sim\",\"prompt\":\"a\",\"max_tokens\":1}";
      for (int i = 0; i < 20; i++) {
        HttpAnswer answer = RawClient.call(cluster.port(), "POST", "/v1/completions", body);
        assertThat(answer.status()).isEqualTo(200);
      }
      assertThat(worker.shuttingDown()).isTrue();
      assertThat(worker.health().healthy()).isTrue();
      assertThat(engine.state().requests().failed()).as("requests that met it").isEqualTo(1);
      engine.stop();
      WaitFor.until("out", WaitFor.LONG, () -> !worker.health().healthy());
      engine.restart();
      cluster.awaitAllServe();
      assertThat(worker.shuttingDown()).isFalse();
    }
  }
}
