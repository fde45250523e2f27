package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BackgroundPollsTest {
  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final Map<String, EngineClient.Answer> answers = new HashMap<>();
  private final List<String> asked = new ArrayList<>();
  private @Nullable IOException failure;

  private final Worker worker = fleet.add(WorkerSpec.of("http://a:1"));

  private BackgroundPolls polls(Executor threads) {
    return new BackgroundPolls(
        fleet,
        (_, method, url, _) -> {
          asked.add(method + " " + url);
          if (failure != null) {
            throw failure;
          }
          return answers.getOrDefault(url, new EngineClient.Answer(404, new byte[0]));
        },
        () -> Duration.ofSeconds(1),
        threads);
  }

  private void look() {
    polls(Runnable::run).look();
  }

  private void answers(String id, int status, String body) {
    answers.put(
        "http://a:1/v1/responses/" + id, new EngineClient.Answer(status, body.getBytes(UTF_8)));
  }

  @Test
  void onlyEnginesThatDrainAreAsked() {
    worker.background().began("r");
    look();
    assertThat(asked).isEmpty();
    worker.cordon(true);
    look();
    assertThat(asked).containsExactly("GET http://a:1/v1/responses/r");
    assertThat(worker.background().count()).isZero();
    look();
    assertThat(asked).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "200|{\"id\":\"r\",\"status\":\"queued\"}|true",
        "200|{\"error\":{\"status\":\"x\"},\"status\":\"in_progress\"}|true",
        "200|{\"status\":\"completed\"}|false",
        "200|{\"status\":\"failed\"}|false",
        "200|{\"output\":[{\"status\":\"queued\"}],\"status\":\"cancelled\"}|false",
        "200|[]|false",
        "200|{|true",
        "404|{}|false",
        "401|{}|false",
        "408|{}|true",
        "429|{}|true",
        "500|{}|true",
        "503|{}|true"
      })
  void theAnswerShowsIfTheResponseIsInProgress(int status, String body, boolean inProgress) {
    worker.cordon(true);
    worker.background().began("r");
    answers("r", status, body);
    look();
    assertThat(worker.background().has("r")).isEqualTo(inProgress);
    assertThat(worker.drained()).isEqualTo(!inProgress);
  }

  @Test
  void aNameOfAClientStaysOneSegment() {
    worker.cordon(true);
    worker.background().began("../a b?c#d%2F");
    look();
    assertThat(asked).containsExactly("GET http://a:1/v1/responses/..%2Fa%20b%3Fc%23d%252F");
  }

  @Test
  void anEngineWithoutAnswerIsAskedOnceInARound() {
    worker.cordon(true);
    worker.background().began("r");
    worker.background().began("s");
    failure = new IOException("timed out");
    look();
    assertThat(asked).hasSize(1);
    assertThat(worker.background().count()).isEqualTo(2);
    look();
    assertThat(asked).hasSize(2);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anEngineThatIsGoneOrHasALargeResponseComputesNone(boolean gone) {
    worker.cordon(true);
    worker.background().began("r");
    worker.background().began("s");
    failure = gone ? new ConnectException("refused") : new EngineClient.TooLargeException();
    look();
    assertThat(asked).hasSize(gone ? 1 : 2);
    assertThat(worker.drained()).isTrue();
  }

  /** A network or a name server that fails for a moment does not end an engine. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anUnreachableEngineIsGoneIfItsProbesFailed(boolean timeout) {
    worker.cordon(true);
    worker.probed(true);
    worker.background().began("r");
    failure = timeout ? new ConnectTimeout("no connection in time") : new UnknownHostException("a");
    look();
    assertThat(worker.drained()).isFalse();
    while (worker.health().healthy()) {
      worker.probed(false);
    }
    look();
    assertThat(worker.drained()).isTrue();
  }

  /** A router may know responses by client, and the key of probes is none of a client. */
  @Test
  void aRouterThatHidesAResponseMayShowAnother() {
    worker.probes().answeredBy("00000000000000aa");
    worker.cordon(true);
    worker.background().began("hidden");
    worker.background().began("shown");
    answers("shown", 200, "{\"status\":\"queued\"}");
    look();
    assertThat(worker.background().ids()).containsExactly("shown");
  }

  private void crowd(int ids) {
    for (int i = 0; i < ids; i++) {
      worker.background().began("r" + i);
    }
  }

  @Test
  void endsAreLearnedBeforeAResponseThatRunsIsDropped() {
    crowd(500);
    answers("r0", 200, "{\"status\":\"in_progress\"}");
    look();
    assertThat(asked).hasSize(100);
    assertThat(worker.background().count()).isEqualTo(401);
    assertThat(worker.background().ids()).startsWith("r100").endsWith("r0");
    look();
    assertThat(asked).hasSize(100);
  }

  /** Its drain warns of them. */
  @ParameterizedTest
  @ValueSource(ints = {401, 403, 404})
  void anEngineThatHidesItsResponsesKeepsThemUntilItDrains(int status) {
    worker.probes().answeredBy("00000000000000aa");
    crowd(500);
    for (int i = 0; i < 500; i++) {
      answers("r" + i, status, "{}");
    }
    look();
    assertThat(asked).hasSize(status == 404 ? 100 : 1);
    assertThat(worker.background().count()).isEqualTo(500);
    worker.cordon(true);
    look();
    assertThat(worker.drained()).isTrue();
  }

  @Test
  void aRoundBeginsAfterTheEndOfTheLast() {
    List<Runnable> begun = new ArrayList<>();
    BackgroundPolls polls = polls(begun::add);
    worker.cordon(true);
    worker.background().began("r");
    answers("r", 503, "{}");
    polls.look();
    polls.look();
    assertThat(begun).hasSize(1);
    begun.getFirst().run();
    polls.look();
    assertThat(begun).hasSize(2);
  }
}
