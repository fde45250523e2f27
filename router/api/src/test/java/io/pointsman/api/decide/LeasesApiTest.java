package io.pointsman.api.decide;

import static io.pointsman.api.decide.DecideFixture.CHAT;
import static io.pointsman.api.decide.DecideFixture.json;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.fleet.CircuitBreaker;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.local.Caller;
import io.pointsman.proxy.local.LocalResponse;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class LeasesApiTest {
  private final DecideFixture plane = new DecideFixture("random").withWorkers(1);
  private final Worker worker = plane.fleet.snapshot().workers().getFirst();

  private String lease() throws Exception {
    return lease(plane);
  }

  private static String lease(DecideFixture plane) throws Exception {
    return plane.decided("{\"body\":" + CHAT + "}").path("lease").asText();
  }

  private LocalResponse say(String lease, String what, String body) throws Exception {
    return plane.post("/v1/leases/" + lease + "/" + what, body);
  }

  @Test
  void settlingIs200OnceAnd409Afterwards() throws Exception {
    String lease = lease();

    LocalResponse first = say(lease, "settle", "{\"outcome\":\"succeeded\"}");
    LocalResponse second = say(lease, "settle", "{\"outcome\":\"failed\"}");

    assertThat(first.status()).isEqualTo(200);
    assertThat(json(first).path("outcome").asText()).isEqualTo("succeeded");
    assertThat(second.status()).isEqualTo(409);
    assertThat(json(second).path("error").path("code").asText()).isEqualTo("lease_settled");
    assertThat(worker.served()).isEqualTo(1);
    assertThat(worker.failures()).isZero();
    assertThat(worker.inFlight()).isZero();
  }

  @Test
  void policiesLearnTheReportsOfProxies() throws Exception {
    String atOnce = lease();
    String atTheEnd = lease();
    String silent = lease();
    plane.clock.advance(Duration.ofMillis(80));

    LocalResponse first = say(atOnce, "first-token", "");
    plane.clock.advance(Duration.ofSeconds(1));
    say(atOnce, "first-token", "");
    say(
        atOnce,
        "settle",
        "{\"outcome\":\"succeeded\",\"ttft_ms\":900,"
            + "\"tokens\":{\"prompt\":900,\"cached\":0,\"completion\":7}}");
    say(
        atTheEnd,
        "settle",
        "{\"outcome\":\"ignored\",\"ttft_ms\":120,\"tokens\":{\"prompt\":900}}");
    say(silent, "settle", "{\"outcome\":\"succeeded\"}");

    assertThat(first.status()).isEqualTo(200);
    assertThat(json(first).path("expires_in_ms").asLong()).isEqualTo(29_920);
    assertThat(plane.signals)
        .containsExactly(
            Duration.ofMillis(80).toNanos(),
            new Usage(900, 0, 7),
            Duration.ofMillis(120).toNanos(),
            new Usage(900, -1, -1),
            Usage.UNKNOWN);
    assertThat(say(atOnce, "first-token", "").status()).isEqualTo(409);
    assertThat(say("1-2", "first-token", "").status()).isEqualTo(404);
  }

  @Test
  void anUnknownOrExpiredLeaseIs404() throws Exception {
    String lease = lease();
    plane.clock.advance(Duration.ofSeconds(30));

    assertThat(say(lease, "settle", "{\"outcome\":\"succeeded\"}").status()).isEqualTo(404);
    assertThat(say("1-2", "settle", "{\"outcome\":\"succeeded\"}").status()).isEqualTo(404);
    assertThat(say(lease, "renew", "{\"ttl_ms\":1000}").status()).isEqualTo(404);
    assertThat(say("%00/..", "settle", "{}").status()).isEqualTo(404);
    assertThat(worker.inFlight()).isZero();
  }

  @Test
  void aLeaseLastsExactlyAsLongAsItsResponseStates() throws Exception {
    String lease = lease();
    plane.clock.advance(Duration.ofSeconds(30).minusNanos(1));
    plane.choices.expireDue();
    assertThat(worker.inFlight()).isEqualTo(1);

    LocalResponse renewed = say(lease, "renew", "{\"ttl_ms\":1500}");

    assertThat(renewed.status()).isEqualTo(200);
    assertThat(json(renewed).path("expires_in_ms").asLong()).isEqualTo(1500);
    plane.clock.advance(Duration.ofMillis(1500).minusNanos(1));
    plane.choices.expireDue();
    assertThat(worker.inFlight()).isEqualTo(1);
    plane.clock.advance(Duration.ofNanos(1));
    plane.choices.expireDue();
    assertThat(worker.inFlight()).isZero();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "settle|{\"outcome\":\"done\"}|outcome: \"done\" (expected: one of succeeded, failed,"
            + " ignored, refused, left)",
        "settle|{}|outcome: missing (expected: one of succeeded, failed, ignored, refused, left)",
        "settle|{\"outcome\":1}|outcome: 1 (expected: one of",
        "settle|{\"outcom\":\"failed\"}|outcom: unknown field (did you mean outcome?)",
        "settle|[]|request body: not an object",
        "settle|{\"outcome\"|request body: ends too early at line 1, column 11 (expected: valid",
        "settle|{\"outcome\":\"failed\",\"failure\":\"x\"}|failure: \"x\" (expected: one of"
            + " connect",
        "settle|{\"outcome\":\"failed\",\"tokens\":{\"prompt\":-1}}|tokens.prompt: -1 (expected:",
        "settle|{\"outcome\":\"failed\",\"tokens\":{\"cached\":1}}|cached: 1 (expected: 0 to"
            + " prompt, 0)",
        "settle|{\"outcome\":\"failed\",\"tokens\":{\"total\":1}}|total: unknown field",
        "settle|{\"outcome\":\"failed\",\"ttft_ms\":-1}|ttft_ms: -1 (expected: a whole number from"
            + " 0 to 86400000)",
        "settle|{\"outcome\":\"failed\",\"ttft_ms\":\"1\"}|ttft_ms: \"1\" (expected:",
        "first-token|{\"ttft_ms\":1}|ttft_ms: unknown field",
        "renew|{\"ttl_ms\":0}|ttl_ms: 0 (expected: a whole number from 1 to 999999999999999)",
        "renew|{\"answering\":1}|answering: 1 (expected: true or false)",
        "renew|{\"ttl_ms\":1000000000000000}|ttl_ms: 1000000000000000 (expected: a whole number"
            + " from 1 to 999999999999999)",
        "renew|{\"ttl_ms\":\"1\"}|ttl_ms: \"1\" (expected: a whole number from 1 to"
            + " 999999999999999)"
      })
  void anInvalidValueIs400AndChangesNothing(String what, String body, String message)
      throws Exception {
    String lease = lease();

    LocalResponse response = say(lease, what, body);

    assertThat(response.status()).isEqualTo(400);
    assertThat(json(response).path("error").path("message").asText()).startsWith(message);
    assertThat(worker.inFlight()).isEqualTo(1);
    assertThat(say(lease, "settle", "{\"outcome\":\"ignored\"}").status()).isEqualTo(200);
  }

  @Test
  void aFailureToConnectTakesTheWorkerOut() throws Exception {
    say(lease(), "settle", "{\"outcome\":\"failed\",\"failure\":\"connect\"}");

    assertThat(worker.failures()).isEqualTo(1);
    assertThat(worker.health().healthy()).isFalse();
  }

  @ParameterizedTest
  @EnumSource(value = Caller.Kind.class, mode = EnumSource.Mode.EXCLUDE, names = "PLANE")
  void failuresThatOthersReportAreNoEvidence(Caller.Kind caller) throws Exception {
    for (int i = 0; i < 50; i++) {
      String path = "/v1/leases/" + lease();
      String failed = "{\"outcome\":\"failed\",\"failure\":\"connect\"}";
      LocalResponse response = plane.post(caller, path + "/settle", failed.getBytes(UTF_8));
      assertThat(response.status()).isEqualTo(200);
      assertThat(json(response).path("counted").asBoolean(true)).isFalse();
    }

    assertThat(worker.failures()).isZero();
    assertThat(worker.health().healthy()).isTrue();
    assertThat(worker.breaker().state()).isEqualTo(CircuitBreaker.State.CLOSED);
    assertThat(worker.inFlight()).isZero();
  }

  /** The worker of each lease counts departures of its own. Few of them count in all. */
  @Test
  void fewDeparturesThatOthersReportCount() throws Exception {
    for (Caller.Kind caller : new Caller.Kind[] {Caller.Kind.OPEN, Caller.Kind.PLANE}) {
      DecideFixture many =
          new DecideFixture("round_robin", ExternalLeaseSettings.DEFAULTS).withWorkers(90);
      int counted = 0;
      for (int i = 0; i < 90; i++) {
        String path = "/v1/leases/" + lease(many) + "/settle";
        LocalResponse done = many.post(caller, path, "{\"outcome\":\"left\"}".getBytes(UTF_8));
        assertThat(done.status()).isEqualTo(200);
        counted += counts(done) ? 1 : 0;
      }
      long deserted = 0;
      for (Worker each : many.fleet.snapshot().workers()) {
        deserted += each.deserted();
      }
      assertThat(deserted).isEqualTo(counted);
      int burst = caller == Caller.Kind.PLANE ? FailureEvidence.BURST : 4;
      int share = (int) (90 * ExternalLeaseSettings.DEFAULTS.failureShare());
      assertThat(counted).isBetween(burst, burst + share);
    }
  }

  /** Otherwise a proxy with invented leases could take all workers out. */
  @Test
  void onlyLeasesThatEndGiveCreditForFailures() throws Exception {
    DecideFixture many =
        new DecideFixture("round_robin", ExternalLeaseSettings.DEFAULTS).withWorkers(90);
    String failed = "{\"outcome\":\"failed\",\"failure\":\"error\"}";
    for (int i = 0; i < 50; i++) {
      settle(many, "x", failed);
    }
    assertThat(counts(settle(many, lease(many), failed))).as("others did not use it up").isTrue();
    int more = 0;
    while (counts(settle(many, lease(many), failed))) {
      more++;
    }
    assertThat(more).isBetween(10, 40);
    String ended = lease(many);
    settle(many, ended, "{\"outcome\":\"succeeded\"}");
    settle(many, lease(many), failed);
    for (int i = 0; i < 50; i++) {
      settle(many, "x", "{\"outcome\":\"succeeded\"}");
      settle(many, ended, "{\"outcome\":\"succeeded\"}");
    }
    int counted = 0;
    for (int i = 0; i < 10; i++) {
      counted += counts(settle(many, lease(many), failed)) ? 1 : 0;
    }
    assertThat(counted).isBetween(3, 6);
  }

  private static LocalResponse settle(DecideFixture plane, String lease, String body)
      throws Exception {
    return plane.post("/v1/leases/" + lease + "/settle", body);
  }

  private static boolean counts(LocalResponse response) throws Exception {
    return response.status() == 200 && json(response).path("counted").asBoolean(true);
  }

  @Test
  void onlyAShareOfAProxysFailuresCounts() {
    FailureEvidence evidence = new FailureEvidence(() -> 0.5);
    int counted = 0;
    for (int i = 0; i < 200; i++) {
      evidence.ended();
      counted += evidence.counts() ? 1 : 0;
    }

    assertThat(counted).isBetween(100, 116);
    assertThat(new FailureEvidence(() -> 0).counts()).isFalse();
  }

  @Test
  void tokensAreCounted() throws Exception {
    String tokens = "{\"prompt\":10,\"cached\":4,\"completion\":3}";

    say(lease(), "settle", "{\"outcome\":\"succeeded\",\"tokens\":" + tokens + "}");

    assertThat(plane.choices.tally().promptTokens()).isEqualTo(10);
    assertThat(plane.choices.tally().cachedTokens()).isEqualTo(4);
    assertThat(plane.choices.tally().completionTokens()).isEqualTo(3);
  }

  @Test
  void aRequestIsConfirmedOnceAndNotToAWorkerThatLeft() throws Exception {
    String first = lease();
    String second = lease();

    assertThat(say(first, "confirm", "").status()).isEqualTo(200);
    assertThat(say(first, "confirm", "").status()).isEqualTo(409);
    plane.fleet.remove(worker.id());
    LocalResponse gone = say(second, "confirm", "");
    assertThat(gone.status()).isEqualTo(410);
    assertThat(json(gone).path("error").path("code").asText()).isEqualTo("worker_left");
    assertThat(say(first, "settle", "{\"outcome\":\"succeeded\"}").status()).isEqualTo(200);
    assertThat(worker.inFlight()).isZero();
  }

  @Test
  void anythingElseBelowLeasesIs404() throws Exception {
    assertThat(say(lease(), "prolong", "").status()).isEqualTo(404);
    assertThat(plane.post("/v1/leases/x", "").status()).isEqualTo(404);
  }
}
