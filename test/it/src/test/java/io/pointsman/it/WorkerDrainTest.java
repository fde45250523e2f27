package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A drain of one of two workers under load. */
@Timeout(180)
final class WorkerDrainTest {
  private static final int CLIENTS = 6;
  private static final int STREAMS = 6;
  private static final String PATH = "/v1/completions";

  private final CountDownLatch streamsEnd = new CountDownLatch(1);

  private ScriptedEngine engine() throws IOException {
    return ScriptedEngine.start(
        new Faults.Healthy(Cluster.MODEL, new Faults.OpenStreams(request(true), streamsEnd)));
  }

  private static String request(boolean stream) {
    return "{\"model\":\"" + Cluster.MODEL + "\",\"prompt\":\"p\",\"stream\":" + stream + "}";
  }

  private static long posts(ScriptedEngine engine) {
    return engine.requests().stream().filter(r -> r.line().startsWith("POST ")).count();
  }

  private static HttpAnswer call(int port, String path) throws IOException {
    return RawClient.call(port, "POST", path, "");
  }

  private static String ask(int port, boolean stream) {
    try {
      HttpAnswer answer = RawClient.call(port, "POST", PATH, request(stream));
      return answer.status() + (answer.complete() ? "" : ", cut");
    } catch (IOException e) {
      return e.toString();
    }
  }

  @Test
  void noRequestIsLostAndTheAnswerComesWhenTheWorkerIsEmpty() throws Exception {
    try (ScriptedEngine first = engine();
        ScriptedEngine second = engine();
        RunningRouter router =
            RunningRouter.start(
                "listen: {port: 0}\nmetrics: {port: 0}\npolicy: round_robin\nworkers: ["
                    + first.url()
                    + ", "
                    + second.url()
                    + "]\n")) {
      WaitFor.until("both are healthy", WaitFor.LONG, router::allHealthy);
      int port = router.port();
      Worker drained = router.workers().getFirst();
      Map<String, Integer> seen = new ConcurrentHashMap<>();
      AtomicBoolean over = new AtomicBoolean();
      List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < STREAMS; i++) {
        clients.add(Thread.ofVirtual().start(() -> seen.merge(ask(port, true), 1, Integer::sum)));
      }
      WaitFor.until(
          "both stream",
          WaitFor.LONG,
          () -> router.workers().stream().allMatch(worker -> worker.inFlight() > 0));
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      while (!over.get()) {
                        seen.merge(ask(port, false), 1, Integer::sum);
                      }
                    }));
      }
      WaitFor.until("the first serves", WaitFor.LONG, () -> posts(first) > 20);
      HttpAnswer still = call(port, "/workers/" + drained.id() + "/drain?wait=10ms");
      assertThat(still.status()).isEqualTo(202);
      assertThat(still.text()).contains("\"drained\":false").contains("\"cordoned\":true");
      AtomicReference<String> end = new AtomicReference<>("");
      Thread waits =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      HttpAnswer done = call(port, "/workers/" + drained.id() + "/drain?wait=60s");
                      end.set(done.status() + " " + done.text());
                    } catch (IOException e) {
                      end.set(e.toString());
                    }
                  });
      long left = posts(first);
      long others = posts(second);
      WaitFor.until("the other serves on", WaitFor.LONG, () -> posts(second) > others + 50);
      assertThat(posts(first)).as("requests to the drained one").isEqualTo(left);
      assertThat(end.get()).isEmpty();
      streamsEnd.countDown();
      waits.join();
      assertThat(end.get()).startsWith("200 ").contains("\"in_flight\":0");
      assertThat(router.workers()).contains(drained);
      assertThat(call(port, "/workers/" + drained.id() + "/uncordon").status()).isEqualTo(200);
      WaitFor.until("it serves again", WaitFor.LONG, () -> posts(first) > left);
      over.set(true);
      for (Thread client : clients) {
        client.join();
      }
      assertThat(seen.keySet()).containsExactly("200");
    }
  }

  /** The first answer has no text; the engine computes it afterwards. */
  @Test
  void aDrainWaitsForAResponseInTheBackground() throws Exception {
    AtomicBoolean completed = new AtomicBoolean();
    try (ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  boolean made = request.line().contains("/v1/responses");
                  String body =
                      "{\"id\":\"resp_1\",\"status\":\""
                          + (completed.get() ? "completed" : "in_progress")
                          + "\"}";
                  String list = "{\"data\":[{\"id\":\"" + Cluster.MODEL + "\"}]}";
                  new Faults.Answer(200, made ? body : list).answer(request, connection);
                });
        RunningRouter router =
            RunningRouter.start(
                "listen: {port: 0}\nmetrics: {port: 0}\nworkers: [" + engine.url() + "]\n")) {
      WaitFor.until("it is healthy", WaitFor.LONG, router::allHealthy);
      int port = router.port();
      String id = router.workers().getFirst().id();
      String body = "{\"model\":\"" + Cluster.MODEL + "\",\"input\":\"x\",\"background\":true}";
      assertThat(RawClient.call(port, "POST", "/v1/responses", body).status()).isEqualTo(200);
      assertThat(polls(engine)).isZero();

      HttpAnswer still = call(port, "/workers/" + id + "/drain?wait=10ms");
      assertThat(still.status()).isEqualTo(202);
      assertThat(still.text()).contains("\"drained\":false", "\"in_flight\":0", "\"background\":1");
      WaitFor.until("it is asked", WaitFor.LONG, () -> polls(engine) > 1);
      assertThat(router.workers().getFirst().drained()).isFalse();

      completed.set(true);
      HttpAnswer done = call(port, "/workers/" + id + "/drain?wait=60s");
      assertThat(done.status()).isEqualTo(200);
      assertThat(done.text()).contains("\"drained\":true", "\"background\":0");
    }
  }

  private static long polls(ScriptedEngine engine) {
    return engine.requests().stream()
        .filter(request -> request.line().startsWith("GET /v1/responses/resp_1 "))
        .count();
  }
}
