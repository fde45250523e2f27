package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.CircuitBreaker;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.retry.PoisonSettings;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.request.AffinitySettings;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.CloseAfter;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.Faults.ResetAfterBytes;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests after which engines fail: the workers that get them, and the blame for the failures. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class PoisonRequestTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String POISON = "{\"model\":\"m\",\"user\":\"kills\"}";
  private static final String WAITS = "{\"model\":\"m\",\"user\":\"waits\"}";
  private static final int NO_LATER_REQUEST = -1;
  private static final String HARMLESS = "{\"model\":\"m\"}";
  private static final Duration TTL = Duration.ofSeconds(60);

  private static final String FAILED_STREAM =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

  private final FakeClock clock = new FakeClock();

  /** Engines that show {@code fault} at the poison and answer everything else. */
  private List<ScriptedEngine> engines(ProxyRig rig, int count, EngineScript fault)
      throws Exception {
    List<ScriptedEngine> engines = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      ScriptedEngine engine =
          ScriptedEngine.start(
              (request, connection) -> {
                boolean poison = request.bodyText().contains("kills");
                (poison ? fault : Answer.ok()).answer(request, connection);
              });
      engines.add(rig.closing(engine));
      rig.worker(engine.url());
    }
    return engines;
  }

  /** Answers that break off reach the client in part, so no other worker is tried. */
  @Test
  void clientsWithInventedKeysAndNewConnectionsOpenNoBreakers() throws Exception {
    String event = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    String begun = FAILED_STREAM + Integer.toHexString(event.length()) + "\r\n" + event + "\r\n";
    try (ProxyRig rig = rig(retries())) {
      engines(rig, 4, new CloseAfter(begun));
      List<Worker> workers = rig.fleet().snapshot().workers();
      for (int i = 0; i < 100; i++) {
        workers.forEach(worker -> worker.drain(true));
        workers.get(i % 4).drain(false);
        String key = "authorization: Bearer invented" + i + "\r\n";
        String body = "{\"model\":\"m\",\"stream\":true,\"user\":\"kills\",\"n\":" + i + "}";
        rig.ask(ProxyRig.post(CHAT, i % 8 < 4 ? key : "", body));
        int ended = i + 1;
        ProxyRig.await("ended", () -> rig.ended.size() == ended);
      }
      workers.forEach(worker -> worker.drain(false));
      assertThat(workers).allMatch(each -> each.breaker().state() == CircuitBreaker.State.CLOSED);
      assertThat(workers.stream().mapToLong(Worker::failures).sum()).isEqualTo(100);
    }
  }

  private ProxyRig rig(RetrySettings retry) throws Exception {
    return new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS.withRetry(retry), clock);
  }

  private static RetrySettings retries() {
    return RetrySettings.DEFAULTS
        .withMaxAttempts(10)
        .withBackoff(Duration.ZERO, Duration.ofSeconds(1))
        .withBudget(1, 1_000_000);
  }

  /** Remembers requests like the program, unlike other tests. */
  private static RetrySettings remembering() {
    return retries().withPoison(new PoisonSettings(8, TTL));
  }

  private static long reached(List<ScriptedEngine> engines) {
    return engines.stream().filter(engine -> !engine.requests().isEmpty()).count();
  }

  private void reachesTwo(EngineScript fault, int status) throws Exception {
    try (ProxyRig rig = rig(retries())) {
      List<ScriptedEngine> engines = engines(rig, 4, fault);
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(status);
      assertThat(reached(engines)).isEqualTo(2);
    }
  }

  @Test
  void reachesOneFurtherEngineAtMost() throws Exception {
    reachesTwo(new Answer(500, "{}"), 500);
    reachesTwo(new Answer(502, "{}"), 502);
    reachesTwo(new ResetAfterBytes(""), 502);
    reachesTwo(new CloseAfter(""), 502);
    reachesTwo(new ResetAfterBytes("HTTP/1.1 200 O"), 502);
    reachesTwo(new Raw("SSH-2.0-OpenSSH\r\n\r\n"), 502);
  }

  @Test
  void busyEnginesDoNotCount() throws Exception {
    for (Answer busy :
        List.of(
            new Answer(429, "{}"),
            new Answer(529, "{}"),
            new Answer(500, "{\"message\":\"cannot schedule new futures after shutdown\"}"),
            new Answer(503, "{\"error\":{\"type\":\"Service Unavailable\",\"code\":503}}"))) {
      try (ProxyRig rig = rig(retries())) {
        List<ScriptedEngine> engines = engines(rig, 4, busy);
        rig.ask(ProxyRig.post(CHAT, POISON));
        assertThat(reached(engines)).as("%s", busy).isEqualTo(4);
        assertThat(rig.outcomes).containsOnly(Outcome.IGNORED);
      }
    }
  }

  @Test
  void refusedConnectionsDoNotCount() throws Exception {
    try (ProxyRig rig = rig(retries())) {
      List<ScriptedEngine> engines = engines(rig, 4, new Answer(500, "{}"));
      for (ScriptedEngine engine : engines.subList(0, 2)) {
        engine.stopListening();
      }
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(500);
      assertThat(reached(engines)).isEqualTo(2);
    }
  }

  /** The engine breaks the kept connection and does not come back: it is no stale connection. */
  @Test
  void engineThatDiesOnAKeptConnectionCounts() throws Exception {
    try (ProxyRig rig = rig(retries())) {
      List<ScriptedEngine> engines = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        ScriptedEngine[] own = new ScriptedEngine[1];
        own[0] =
            ScriptedEngine.start(
                (request, connection) -> {
                  if (request.bodyText().contains("kills")) {
                    Thread.ofVirtual().start(() -> stop(own[0])).join();
                  } else {
                    Answer.ok().answer(request, connection);
                  }
                });
        engines.add(rig.closing(own[0]));
      }
      for (ScriptedEngine engine : engines) {
        Worker worker = rig.worker(engine.url());
        rig.ask(ProxyRig.post(CHAT, HARMLESS)); // leaves a connection
        worker.drain(true);
      }
      rig.fleet().snapshot().workers().forEach(worker -> worker.drain(false));
      rig.ask(ProxyRig.post(CHAT, POISON));
      assertThat(engines.stream().filter(engine -> engine.requests().size() > 1).count())
          .isEqualTo(2);
    }
  }

  private static void stop(ScriptedEngine engine) {
    try {
      engine.stopListening();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Later requests have output, so the engines have survived the prompt. Only one is forgiven. */
  @Test
  void anEngineThatHasSurvivedThePromptDoesNotCountOnce() throws Exception {
    assertThat(statusAfterEnds(WAITS, 51, 2)).isEqualTo(200);
    assertThat(statusAfterEnds(WAITS, 51, 3)).isEqualTo(502);
    assertThat(statusAfterEnds(WAITS, 49, 2)).isEqualTo(502);
    assertThat(statusAfterEnds(WAITS, NO_LATER_REQUEST, 2)).isEqualTo(502);
  }

  /** An engine splits a prompt of 1,000 tokens before its request is in the queue: 4 ms. */
  @Test
  void laterRequestsCanPassALongPrompt() throws Exception {
    String prompt =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"waits%s\"}]}"
            .formatted("a".repeat(4000));
    assertThat(statusAfterEnds(prompt, 53, 2)).isEqualTo(502);
    assertThat(statusAfterEnds(prompt, 55, 2)).isEqualTo(200);
  }

  @Test
  void laterRequestsCanPassStructuredOutput() throws Exception {
    String body =
        "{\"model\":\"m\",\"user\":\"waits\",\"response_format\":{\"type\":\"json_object\"}}";
    assertThat(statusAfterEnds(body, 51, 2)).isEqualTo(502);
  }

  @Test
  void laterRequestsCanPassOneForAnAdapter() throws Exception {
    assertThat(statusAfterEnds(WAITS, 51, 2, Set.of("m", "m:adapter"))).isEqualTo(502);
    assertThat(statusAfterEnds(WAITS, 51, 2, Set.of("m", "other"))).isEqualTo(200);
  }

  private int statusAfterEnds(String body, int millis, int ends) throws Exception {
    return statusAfterEnds(body, millis, ends, Set.of("m"));
  }

  /**
   * The status of a request on engines that end, one after the other.
   *
   * @param millis time from the request to a later one that each engine answers before its end
   */
  private int statusAfterEnds(String body, int millis, int ends, Set<String> models)
      throws Exception {
    try (ProxyRig rig = rig(remembering());
        WireClient client = rig.connect()) {
      List<ScriptedEngine> engines = new ArrayList<>();
      for (int i = 0; i <= ends; i++) {
        boolean last = i == ends;
        EngineScript script =
            (request, connection) -> {
              boolean waits = request.bodyText().contains("waits") && !last;
              (waits ? new HangBeforeHeaders() : Answer.ok()).answer(request, connection);
            };
        engines.add(rig.closing(ScriptedEngine.start(script)));
        rig.fleet().learnModels(rig.worker(engines.get(i).url()), models);
      }
      client.send(ProxyRig.post(CHAT, body));
      for (ScriptedEngine engine : engines.subList(0, ends)) {
        Await.until("the engine has the request", () -> !engine.requests().isEmpty());
        if (millis != NO_LATER_REQUEST) {
          clock.advance(Duration.ofMillis(millis));
          assertThat(rig.ask(ProxyRig.post(CHAT, HARMLESS)).status()).isEqualTo(200);
        }
        engine.stopListening();
      }
      return client.read().status();
    }
  }

  /** The engine lives, so its error follows the request although it served later ones. */
  @Test
  void anErrorOfAnEngineThatServesOthersCounts() throws Exception {
    try (ProxyRig rig = rig(retries());
        WireClient client = rig.connect()) {
      CountDownLatch served = new CountDownLatch(1);
      List<ScriptedEngine> engines =
          engines(
              rig,
              4,
              (request, connection) -> {
                served.await();
                new Answer(500, "{}").answer(request, connection);
              });
      client.send(ProxyRig.post(CHAT, POISON));
      Await.until("the engine has the request", () -> reached(engines) == 1);
      clock.advance(Duration.ofMillis(51));
      assertThat(rig.ask(ProxyRig.post(CHAT, HARMLESS)).status()).isEqualTo(200);
      served.countDown();
      assertThat(client.read().status()).isEqualTo(500);
      assertThat(reached(engines)).isEqualTo(2);
    }
  }

  /** The engines fail before they get the harmless request. It is not the cause. */
  @Test
  void enginesThatFailedOthersBeforeDoNotCount() throws Exception {
    try (ProxyRig rig = rig(retries())) {
      List<ScriptedEngine> engines = engines(rig, 4, Answer.ok());
      for (ScriptedEngine engine : engines.subList(0, 2)) {
        engine.now(new Answer(500, "{}"));
      }
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(500);
      clock.advance(Duration.ofMillis(1));
      assertThat(rig.ask(ProxyRig.post(CHAT, HARMLESS)).status()).isEqualTo(200);
    }
  }

  /** The first engine answers probes, and fails also a harmless request that it got later. */
  @Test
  void anEngineThatFailsByItselfDoesNotCountOnce() throws Exception {
    assertThat(enginesWithPoison(true)).isEqualTo(3);
  }

  @Test
  void anEngineThatOnlyAnswersProbesCounts() throws Exception {
    assertThat(enginesWithPoison(false)).isEqualTo(2);
  }

  private long enginesWithPoison(boolean failsOthers) throws Exception {
    try (ProxyRig rig = rig(retries())) {
      List<ScriptedEngine> engines = engines(rig, 5, new Answer(500, "{}"));
      EngineScript second =
          (request, connection) -> {
            if (!request.bodyText().contains("kills")) {
              Answer.ok().answer(request, connection);
              return;
            }
            clock.advance(Duration.ofMillis(1));
            rig.fleet()
                .snapshot()
                .workers()
                .getFirst()
                .failureSigns()
                .answeredProbeOf(clock.nanos());
            if (failsOthers) {
              engines.getFirst().now(new Answer(500, "{}"));
              askHarmless(rig);
            }
            new Answer(500, "{}").answer(request, connection);
          };
      engines.get(1).now(second);
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(500);
      return engines.stream().filter(PoisonRequestTest::gotPoison).count();
    }
  }

  private static void askHarmless(ProxyRig rig) throws IOException {
    try (WireClient client = rig.connect()) {
      client.send(ProxyRig.post(CHAT, HARMLESS));
      client.read();
    }
  }

  private static boolean gotPoison(ScriptedEngine engine) {
    return engine.requests().stream().anyMatch(each -> each.bodyText().contains("kills"));
  }

  @Test
  void thirdTryOfAnyClientIsRefusedUntilItExpires() throws Exception {
    try (ProxyRig rig = rig(remembering())) {
      List<ScriptedEngine> engines = engines(rig, 4, new ResetAfterBytes(""));
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(502);

      WireResponse refused = rig.ask(ProxyRig.post(CHAT, POISON));
      assertThat(refused.status()).isEqualTo(500);
      assertThat(refused.text()).contains("\"code\":\"poison_request\"");
      assertThat(refused.header("x-should-retry")).isEqualTo("false");
      assertThat(reached(engines)).isEqualTo(2);
      assertThat(rig.server().poison().refused()).isEqualTo(1);

      assertThat(rig.ask(ProxyRig.post(CHAT, HARMLESS)).status()).isEqualTo(200);
      assertThat(rig.ask(ProxyRig.post("/v1/completions", POISON)).status()).isEqualTo(502);
      clock.advance(TTL);
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(502);
    }
  }

  /** The client has the head, so there is no retry; its next requests count too. */
  @Test
  void streamThatFailsBeforeItsFirstOutputCounts() throws Exception {
    try (ProxyRig rig = rig(remembering())) {
      EngineScript fault =
          (request, connection) -> {
            connection.send(FAILED_STREAM).reset();
          };
      List<ScriptedEngine> engines = engines(rig, 4, fault);
      for (int i = 0; i < 4; i++) {
        rig.ask(ProxyRig.post(CHAT, POISON));
        // The first worker in order is chosen unless it is out.
        rig.fleet().snapshot().workers().get(i).drain(true);
      }
      assertThat(reached(engines)).isEqualTo(2);
    }
  }

  @Test
  void otherSettingsOfTheMemoryForgetRequests() throws Exception {
    try (ProxyRig rig = rig(remembering())) {
      List<ScriptedEngine> engines = engines(rig, 4, new ResetAfterBytes(""));
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(502);
      use(rig, rig.settings());
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).text()).contains("poison_request");

      use(rig, rig.settings().withRetry(retries().withPoison(new PoisonSettings(9, TTL))));

      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(502);
      assertThat(reached(engines)).isGreaterThanOrEqualTo(2);
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).text()).contains("poison_request");
    }
  }

  private static void use(ProxyRig rig, ProxySettings next) {
    rig.server().use(next, AffinitySettings.DEFAULT, ServedPaths.NONE, CallerCheck.NONE);
  }

  /** vLLM ends a stream with an event if its engine has died. */
  @Test
  void streamThatReportsTheEndOfItsEngineCounts() throws Exception {
    String token = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    String dead =
        "data: {\"error\":{\"message\":\"EngineCore encountered an issue.\",\"code\":500}}\n\n";
    for (String before : List.of("", token)) {
      try (ProxyRig rig = rig(remembering())) {
        EngineScript fault =
            (_, connection) -> connection.beginEvents().chunk(before + dead).lastChunk();
        List<ScriptedEngine> engines = engines(rig, 4, fault);
        for (int i = 0; i < 4; i++) {
          rig.ask(ProxyRig.post(CHAT, POISON));
        }
        assertThat(reached(engines)).as("after '%s'", before).isEqualTo(2);
        assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).text()).contains("poison_request");
      }
    }
  }

  @Test
  void requestThatSucceedsIsNotRemembered() throws Exception {
    try (ProxyRig rig = rig(remembering().withMaxAttempts(1))) {
      List<ScriptedEngine> engines = engines(rig, 2, new Answer(500, "{}"));
      Worker first = rig.fleet().snapshot().workers().getFirst();
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(500);
      engines.getFirst().now(Answer.ok());
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(200);
      first.drain(true);
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(500);
      first.drain(false);
      assertThat(rig.ask(ProxyRig.post(CHAT, POISON)).status()).isEqualTo(200);
    }
  }

  @Test
  void failuresThatFollowTheRequestOpenNoBreaker() throws Exception {
    try (ProxyRig rig = rig(retries())) {
      engines(rig, 2, new Answer(500, "{}"));
      for (int i = 0; i < 20; i++) {
        rig.ask(ProxyRig.post(CHAT, "{\"model\":\"m\",\"kills\":" + i + "}"));
      }
      assertThat(rig.fleet().snapshot().workers())
          .allMatch(worker -> worker.breaker().state() == CircuitBreaker.State.CLOSED);
    }
  }

  /** Without retries each request fails once, on one worker or the other. */
  @Test
  void failuresThatFollowTheClientOpenNoBreaker() throws Exception {
    try (ProxyRig rig = rig(retries().withMaxAttempts(1))) {
      engines(rig, 2, new Answer(500, "{}"));
      Worker first = rig.fleet().snapshot().workers().getFirst();
      try (WireClient client = rig.connect()) {
        for (int i = 0; i < 40; i++) {
          first.drain(i % 2 == 1);
          client.send(ProxyRig.post(CHAT, "{\"model\":\"m\",\"kills\":" + i + "}"));
          assertThat(client.read().status()).isEqualTo(500);
        }
      }
      assertThat(rig.fleet().snapshot().workers())
          .allMatch(worker -> worker.breaker().state() == CircuitBreaker.State.CLOSED);
    }
  }

  @Test
  void workerThatFailsRequestsThatOthersServeIsOut() throws Exception {
    try (ProxyRig rig = rig(retries())) {
      List<ScriptedEngine> engines = engines(rig, 2, Answer.ok());
      engines.getFirst().now(new Answer(500, "{}"));
      Worker first = rig.fleet().snapshot().workers().getFirst();
      try (WireClient client = rig.connect()) {
        for (int i = 0; i < 10; i++) {
          client.send(ProxyRig.post(CHAT, HARMLESS));
          assertThat(client.read().status()).isEqualTo(200);
        }
      }
      assertThat(first.breaker().state()).isEqualTo(CircuitBreaker.State.OPEN);
    }
  }
}
