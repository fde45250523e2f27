package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two routers in front of the same engines: each counts the load of the other. */
@Tag("full")
@Timeout(180)
final class TwoRoutersTest {
  private static final String PATH = "/v1/completions";
  private static final int STREAMS = 48;
  private static final int REQUESTS = 6;
  private static final List<String> POLICIES =
      List.of("cost", "least_load", "power_of_two", "cache_aware");

  private static String request(String prompt, int tokens, boolean stream) {
    return "{\"model\":\"sim\",\"prompt\":\"%s\",\"max_tokens\":%d,\"stream\":%b}"
        .formatted(prompt, tokens, stream);
  }

  private static RunningRouter router(String policy, String... engines) {
    return RunningRouter.start(
        "listen: {port: 0}\nmetrics: {port: 0}\nengine-load: {interval: 100ms}\npolicy: "
            + policy
            + "\nworkers: ["
            + String.join(", ", engines)
            + "]\n");
  }

  /** Requests of others on the first worker, as this router knows them. */
  private static boolean seesOthers(RunningRouter router, int at) {
    List<Worker> workers = router.workers();
    return workers.get(at).capacity().others() == STREAMS;
  }

  @Test
  void requestsAvoidTheEngineThatAnotherRouterUses() throws IOException {
    SimConfig slow = SimConfig.DEFAULT.withLinearLatency(0, 20);
    List<RawClient> streams = new ArrayList<>();
    try (SimEngine busy = SimEngine.start(slow.withId("busy"));
        SimEngine idle = SimEngine.start(slow.withId("idle"));
        RunningRouter other = router("round_robin", busy.url())) {
      WaitFor.until("the other router's worker", WaitFor.LONG, other::allHealthy);
      for (int i = 0; i < STREAMS; i++) {
        streams.add(
            RawClient.connect(other.port()).send("POST", PATH, request("s" + i, 100_000, true)));
      }
      for (String policy : POLICIES) {
        try (RunningRouter router = router(policy, busy.url(), idle.url())) {
          WaitFor.until("both workers", WaitFor.LONG, router::allHealthy);
          WaitFor.until("the report", WaitFor.LONG, () -> seesOthers(router, 0));
          for (int i = 0; i < REQUESTS; i++) {
            HttpAnswer answer =
                RawClient.call(router.port(), "POST", PATH, request(policy + i, 1, false));
            assertThat(answer.status()).isEqualTo(200);
            assertThat(answer.header("x-engine-id"))
                .as(policy + ", request " + i)
                .isEqualTo("idle");
          }
        }
      }
    } finally {
      for (RawClient stream : streams) {
        stream.close();
      }
    }
  }
}
