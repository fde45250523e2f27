package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.Scale;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Under any behaviour of clients and engines, a request is counted once at its start and once at
 * its end. Closing the cluster checks this: no count is above zero, none was negative, and no lease
 * was settled twice.
 */
@Tag("full")
final class ExactAccountingTest {
  private static final int REQUESTS = Scale.of(3_000, 20_000);
  private static final int AT_ONCE = 192;

  /** Fewer than clients, so requests queue, and clients leave the queue. */
  private static final int CONCURRENT = 64;

  /** The behaviour of a client; the weights are percentages. */
  private enum Deed {
    STREAM(25),
    WHOLE(20),
    EMBEDDINGS(3),
    UNKNOWN_PATH(10),
    GET_MODELS(2),
    REFUSED_METHOD(6),
    NOT_JSON(2),
    UNKNOWN_MODEL(2),
    LEAVE_AT_ONCE(10),
    LEAVE_BEFORE_HEADERS(10),
    LEAVE_MID_STREAM(8),
    LEAVE_WITHIN_THE_BODY(2);

    private final int share;

    Deed(int share) {
      this.share = share;
    }

    static Deed draw(SplittableRandom random) {
      int roll = random.nextInt(100);
      for (Deed deed : values()) {
        roll -= deed.share;
        if (roll < 0) {
          return deed;
        }
      }
      throw new AssertionError("shares do not add up to 100");
    }

    boolean leaves() {
      return name().startsWith("LEAVE");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"cache_aware", "least_load"})
  void everyCountReturnsToZero(String policy) throws Exception {
    Map<String, Integer> ends = new TreeMap<>();
    try (Cluster cluster = troubledEngines(policy)) {
      long start = System.nanoTime();
      List<String> all =
          ConcurrentClients.of(
              REQUESTS, AT_ONCE, i -> () -> act(cluster.port(), new SplittableRandom(i)));
      double seconds = (System.nanoTime() - start) / 1e9;
      all.forEach(end -> ends.merge(end, 1, Integer::sum));
      cluster.awaitQuiet();
      Scale.report(
          "exact accounting",
          "%s: %d requests in %.1f s: %s".formatted(policy, REQUESTS, seconds, ends));
      verifyTroubles(cluster, ends.getOrDefault(Deed.LEAVE_WITHIN_THE_BODY.name(), 0));

      cluster.engines().forEach(engine -> engine.failures().clear());
      cluster.awaitAllServe();
    }

    int left =
        ends.entrySet().stream()
            .filter(end -> end.getKey().startsWith("LEAVE"))
            .mapToInt(Map.Entry::getValue)
            .sum();
    assertThat(left).isGreaterThan(REQUESTS / 4);
    assertThat(ends.keySet())
        .as("what the scenario is meant to contain")
        .anyMatch(end -> end.startsWith("WHOLE 200"))
        .anyMatch(end -> end.startsWith("STREAM 200"))
        .anyMatch(end -> end.startsWith("REFUSED_METHOD 405"))
        .noneMatch(end -> end.startsWith("REFUSED_METHOD 2"));
  }

  /** Checks that all faults that the counts must survive have occurred. */
  private static void verifyTroubles(Cluster cluster, int leftWithinBody) {
    RunningRouter router = cluster.router();
    for (String reason : List.of("reset", "status", "busy")) {
      double retries = router.metric("pointsman_retries_total", "reason=\"" + reason + "\"");
      assertThat(retries).as("attempts given up: %s", reason).isPositive();
    }
    // By default a missing response head ends a request, because the worker may still process it.
    assertThat(router.metric("pointsman_errors_total", "kind=\"504\"")).as("504").isPositive();
    assertThat(router.metric("pointsman_errors_total", "kind=\"cut\"")).as("cut").isPositive();
    // A client that leaves a worker causes an ignored lease; one that leaves the queue or its own
    // body causes none.
    double left = router.metric("pointsman_errors_total", "kind=\"client_left\"");
    double ignored = router.metric("pointsman_worker_requests_total", "outcome=\"ignored\"");
    double busy = router.metric("pointsman_retries_total", "reason=\"busy\"");
    double leftQueue = left - (ignored - busy) - leftWithinBody;
    Scale.report("exact accounting", "at least %.0f clients left the queue".formatted(leftQueue));
    assertThat(leftQueue).as("clients that left the queue").isPositive();
  }

  private static Cluster troubledEngines(String policy) throws Exception {
    Cluster cluster =
        Cluster.of(4)
            .policy(policy)
            .engines(sim -> sim.withLinearLatency(200_000, 2))
            .set("limits.max-concurrent-requests", CONCURRENT)
            .set("limits.queue-size", AT_ONCE)
            .set("timeouts.first-byte", "1s")
            .set("retry.initial-backoff", "5ms")
            .set("breaker.failure-threshold", 20)
            .set("breaker.open-for", "100ms")
            .start();
    cluster.engines().forEach(ExactAccountingTest::trouble);
    // Only a few, because a busy engine gets no requests for a while.
    cluster.engine(0).failures().add(new ScheduledFault(new Fault.Status(503, 0), 0.002, 5, ""));
    cluster.engine(1).failures().add(new ScheduledFault(new Fault.Status(429, 0), 0.002, 5, ""));
    return cluster;
  }

  private static void trouble(SimEngine engine) {
    for (Fault fault :
        List.of(
            new Fault.ResetAfterBytes(0, false),
            new Fault.ResetAfterBytes(0, true),
            new Fault.ResetAfterBytes(700, false),
            new Fault.ResetAfterBytes(700, true),
            new Fault.Status(500, 0),
            new Fault.MalformedChunk(),
            new Fault.SlowFirstToken(300))) {
      engine.failures().add(ScheduledFault.always(fault).withProbability(0.02));
    }
    engine.failures().add(ScheduledFault.always(new Fault.Hang(0)).withProbability(0.003));
  }

  /** Sends one request and returns its ending. */
  private static String act(int port, SplittableRandom random) throws Exception {
    Deed deed = Deed.draw(random);
    try (RawClient client = RawClient.connect(port)) {
      begin(client, deed, random);
      if (deed.leaves()) {
        await(client, deed, random);
        if (random.nextBoolean()) {
          client.reset();
        }
        return deed.name();
      }
      HttpAnswer answer = client.read();
      return deed + " " + answer.status() + (answer.complete() ? "" : " cut short");
    } catch (IOException e) {
      return deed + " " + e.getClass().getSimpleName();
    }
  }

  private static void begin(RawClient client, Deed deed, SplittableRandom random)
      throws IOException {
    String prompt = "shared words of group " + random.nextInt(20) + ", then " + random.nextInt();
    int tokens = 1 + random.nextInt(30);
    switch (deed) {
      case STREAM, LEAVE_MID_STREAM ->
          client.send("POST", "/v1/chat/completions", chat(prompt, tokens, true));
      case WHOLE, LEAVE_BEFORE_HEADERS ->
          client.send("POST", "/v1/completions", completion(prompt, tokens));
      case EMBEDDINGS ->
          client.send("POST", "/v1/embeddings", "{\"model\":\"sim\",\"input\":\"" + prompt + "\"}");
      case UNKNOWN_PATH -> client.send("PUT", "/echo/anything?a=b", completion(prompt, tokens));
      case GET_MODELS -> client.send("GET", "/v1/models", "");
      case REFUSED_METHOD ->
          client.send(
              random.nextBoolean() ? "TRACE" : "OPTIONS",
              random.nextBoolean() ? "/v1/chat/completions" : "/some/where",
              "");
      case NOT_JSON -> client.send("POST", "/v1/chat/completions", "{\"model\":");
      case UNKNOWN_MODEL -> client.send("POST", "/v1/completions", "{\"model\":\"nobody's\"}");
      case LEAVE_AT_ONCE ->
          client.send("POST", "/v1/completions", completion(prompt, tokens + 100));
      case LEAVE_WITHIN_THE_BODY -> {
        byte[] body = completion(prompt, tokens).getBytes(StandardCharsets.UTF_8);
        client.sendPart("POST", "/v1/completions", body, random.nextInt(body.length));
      }
    }
  }

  private static void await(RawClient client, Deed deed, SplittableRandom random)
      throws IOException {
    switch (deed) {
      case LEAVE_MID_STREAM -> {
        client.readHead();
        client.readSome(new byte[400], 1 + random.nextInt(400));
      }
      case LEAVE_BEFORE_HEADERS, LEAVE_WITHIN_THE_BODY -> WaitFor.pause(random.nextInt(40));
      case STREAM,
          WHOLE,
          EMBEDDINGS,
          UNKNOWN_PATH,
          GET_MODELS,
          REFUSED_METHOD,
          NOT_JSON,
          UNKNOWN_MODEL,
          LEAVE_AT_ONCE -> {}
    }
  }

  private static String chat(String prompt, int tokens, boolean stream) {
    return "{\"model\":\"sim\",\"stream\":%s,\"max_tokens\":%d,\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}"
        .formatted(stream, tokens, prompt);
  }

  private static String completion(String prompt, int tokens) {
    return "{\"model\":\"sim\",\"max_tokens\":%d,\"prompt\":\"%s\"}".formatted(tokens, prompt);
  }
}
