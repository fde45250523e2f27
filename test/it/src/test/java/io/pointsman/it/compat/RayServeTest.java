package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Semaphore;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Configuration files of Ray Serve, in front of engines. */
@Timeout(300)
final class RayServeTest {
  private static final String HEAD =
      """
      http_options: {host: 127.0.0.1, port: 0}
      applications:
      - import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
      """;
  private static final int BLOCK = 16;

  @TempDir Path directory;

  private static String model(String name, List<String> urls, String deployment) {
    return """
        - model_loading_config: {model_id: %s}
          workers: [%s]
          deployment_config: {%s}
    """
        .formatted(
            name,
            urls.stream().map(url -> '"' + url + '"').collect(Collectors.joining(", ")),
            deployment);
  }

  private RunningRouter router(String... models) throws IOException {
    Path file = directory.resolve("serve.yaml");
    Files.writeString(file, HEAD + String.join("", models));
    RunningRouter router = RunningRouter.rayServe(file);
    WaitFor.until(
        () -> "all workers healthy: " + router.workers(), WaitFor.LONG, router::allHealthy);
    return router;
  }

  private static String body(String model, String prompt) {
    return "{\"model\":\"%s\",\"max_tokens\":1,\"prompt\":%s}".formatted(model, prompt);
  }

  private static String ids(long seed, int length) {
    return new SplittableRandom(seed)
        .ints(length, 1, 30_000)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining(",", "[", "]"));
  }

  @Test
  void kvAwareRouterFindsPromptsOfAnotherProxy() throws Exception {
    SimConfig engine =
        SimConfig.instant()
            .withModels("m")
            .withKvMemory(4096, BLOCK)
            .withEvents(EventOptions.of(EventFormat.VLLM));
    try (SimEngine one = SimEngine.start(engine.withId("one"));
        SimEngine other = SimEngine.start(engine.withId("other"));
        RunningRouter router =
            router(
                model(
                    "m",
                    List.of(one.url(), other.url()),
                    "request_router_config: {request_router_class:"
                        + " ray.serve.llm.request_router.KVAwareRouter}"))) {
      for (int round = 0; round < 4; round++) {
        SimEngine holder = round % 2 == 0 ? other : one;
        String name = round % 2 == 0 ? "other" : "one";
        String prompt = ids(round, 40 * BLOCK + 1);
        int direct = URI.create(holder.url()).getPort();
        assertThat(ask(direct, body("m", prompt)).status()).isEqualTo(200);
        WaitFor.until(
            name + " gets what it holds",
            WaitFor.LONG,
            () -> {
              HttpAnswer answer = ask(router.port(), body("m", prompt));
              return name.equals(answer.header("x-engine-id"));
            });
      }
    }
  }

  private static HttpAnswer ask(int port, String body) {
    try {
      return RawClient.call(port, "POST", "/v1/completions", body);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** An engine that answers each request when the semaphore admits it. */
  private static RawEngine held(String model, Semaphore let) throws IOException {
    return RawEngine.start(
        model,
        (request, out) -> {
          let.acquireUninterruptibly();
          byte[] text = ("{\"served\":\"" + model + "\"}").getBytes(StandardCharsets.UTF_8);
          out.write(RawEngine.answer("application/json", text));
        });
  }

  private static RawClient sent(RunningRouter router, String model) throws IOException {
    return RawClient.connect(router.port())
        .send("POST", "/v1/completions", body(model, "\"hello\""));
  }

  @Test
  void everyModelHasItsOwnQueue() throws Exception {
    Semaphore let = new Semaphore(0);
    List<RawClient> clients = new ArrayList<>();
    try (RawEngine first = held("m", let);
        RawEngine second = held("n", let);
        RunningRouter router =
            router(
                model("m", List.of(first.url()), "max_ongoing_requests: 1, max_queued_requests: 2"),
                model(
                    "n",
                    List.of(second.url()),
                    "max_ongoing_requests: 2, max_queued_requests: 0,"
                        + " backpressure_config: {status_code: 429}"))) {
      clients.add(sent(router, "m"));
      WaitFor.until("m runs", WaitFor.LONG, () -> first.inFlight() == 1);
      clients.add(sent(router, "m"));
      clients.add(sent(router, "m:adapter"));
      WaitFor.until("two wait", WaitFor.LONG, () -> router.queued() == 2);
      full(router, "m", 503);
      full(router, "m:adapter", 503);

      clients.add(sent(router, "n"));
      clients.add(sent(router, "n"));
      WaitFor.until("n runs", WaitFor.LONG, () -> second.inFlight() == 2);
      full(router, "n", 429);
      assertThat(router.queued()).isEqualTo(2);
      assertThat(router.metric("pointsman_queue_length", "")).isEqualTo(2);

      let.release(clients.size());
      for (RawClient client : clients) {
        assertThat(client.read().status()).isEqualTo(200);
      }
      WaitFor.until("nothing is left", WaitFor.LONG, () -> router.running() == 0);
      assertThat(router.queued()).isZero();
      let.release(1);
      assertThat(ask(router.port(), body("n", "\"again\"")).status()).isEqualTo(200);
    } finally {
      for (RawClient client : clients) {
        client.close();
      }
    }
  }

  /**
   * Checks that a full queue of a model is reported by the proxy and to external proxies, which
   * cannot wait.
   */
  private static void full(RunningRouter router, String model, int status) {
    HttpAnswer refused = ask(router.port(), body(model, "\"hello\""));

    assertThat(refused.status()).as(refused.text()).isEqualTo(status);
    assertThat(refused.text()).contains("\"error\"", "queue_full");
    assertThat(seconds(refused)).isBetween(1, 60);

    String question = "{\"path\":\"/v1/completions\",\"body\":" + body(model, "\"hello\"") + "}";
    HttpAnswer decided;
    try {
      decided = RawClient.call(router.adminPort(), "POST", "/v1/decide", question);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    assertThat(decided.status()).as(decided.text()).isEqualTo(status);
    assertThat(seconds(decided)).isBetween(1, 60);
  }

  private static int seconds(HttpAnswer answer) {
    return Integer.parseInt(String.valueOf(answer.header("retry-after")));
  }
}
