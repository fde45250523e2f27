package io.pointsman.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** All breakers are open, although the engines may have recovered. */
class LastResortTest {
  private final TestFleet fleet = TestFleet.of(3);
  private final RecordedEvents events = new RecordedEvents();
  private final RoutingEngine engine =
      new RoutingEngine(
          fleet.fleet,
          new PolicySetup(pool -> (_, now) -> pool.random(now, List.of(), fleet.random), List.of()),
          EngineSettings.DEFAULTS,
          events,
          fleet.clock::nanos,
          fleet.random);

  private void open(Worker worker) {
    for (int i = 0; i < 10; i++) {
      fleet.lease(worker).failed(Failure.ERROR);
    }
    assertThat(worker.breaker().state()).isEqualTo(State.OPEN);
  }

  /** Opens the breakers of the second, the third and the first worker, one second apart. */
  private void openAll() {
    for (int index : new int[] {1, 2, 0}) {
      open(fleet.worker(index));
      fleet.clock.advance(Duration.ofSeconds(1));
    }
  }

  private Decision decide() {
    return engine.decide(Requests.bare());
  }

  private Lease routed() {
    Decision decision = decide();
    assertThat(decision).isInstanceOf(Decision.Routed.class);
    return ((Decision.Routed) decision).lease();
  }

  private void assertRefused() {
    assertThat(decide()).isEqualTo(new Decision.Rejected(RejectReason.NONE_AVAILABLE, 0));
  }

  @Test
  void workerWithTheOldestFailureIsTriedAfterATenthOfItsOpenTime() {
    openAll();
    fleet.clock.advance(Duration.ofMillis(2999));
    assertRefused();

    fleet.clock.advance(Duration.ofMillis(1));
    assertThat(routed().worker()).isSameAs(fleet.worker(1));
    assertRefused();
  }

  @Test
  void eachWorkerGetsOneRequestAtATime() {
    openAll();
    fleet.clock.advance(Duration.ofSeconds(10));
    assertThat(routed().worker()).isSameAs(fleet.worker(1));
    assertThat(routed().worker()).isSameAs(fleet.worker(2));
    assertThat(routed().worker()).isSameAs(fleet.worker(0));
    assertRefused();
  }

  @Test
  void recoveredWorkerServesAllAfterItsTrials() {
    openAll();
    fleet.clock.advance(Duration.ofSeconds(3));
    for (int i = 0; i < 3; i++) {
      routed().succeeded();
    }

    assertThat(fleet.worker(1).breaker().state()).isEqualTo(State.CLOSED);
    assertThat(routed().worker()).isSameAs(fleet.worker(1));
    assertThat(routed().worker()).isSameAs(fleet.worker(1));
  }

  @Test
  void workerThatFailsAgainIsExcludedForAnotherTenth() {
    openAll();
    fleet.clock.advance(Duration.ofSeconds(3));
    routed().failed(Failure.ERROR);
    assertRefused();

    fleet.clock.advance(Duration.ofSeconds(1));
    assertThat(routed().worker()).isSameAs(fleet.worker(2));
  }

  @Test
  void noWorkerIsTriedEarlyWhileAnotherServes() {
    open(fleet.worker(1));
    open(fleet.worker(2));
    fleet.clock.advance(Duration.ofSeconds(59));
    for (int i = 0; i < 20; i++) {
      assertThat(routed().worker()).isSameAs(fleet.worker(0));
    }
  }

  @Test
  void workersExcludedForFurtherReasonsAreNotTried() {
    openAll();
    fleet.clock.advance(Duration.ofSeconds(50));
    fleet.kill(fleet.worker(0));
    fleet.worker(1).drain(true);
    fleet.worker(2).rest(1_000_000_000);

    assertThat(decide()).isInstanceOf(Decision.Rejected.class);
    assertThat(fleet.fleet.snapshot().workers())
        .allMatch(worker -> worker.breaker().state() == State.OPEN);
  }

  @Test
  void leastLoadedWorkerExcludedOnlyByItsStallIsTried() {
    for (int i = 0; i < 3; i++) {
      fleet.load(fleet.worker(i), 1 + i);
    }
    fleet.clock.advance(Duration.ofMinutes(5));
    fleet.fleet.checkStalls();
    fleet.kill(fleet.worker(0));
    fleet.worker(1).drain(true);

    assertThat(routed().worker()).isSameAs(fleet.worker(2));
    assertThat(fleet.worker(0).stalled()).isTrue();
    assertThat(fleet.worker(1).stalled()).isTrue();
  }

  @Test
  void triedWorkerIsNotTriedAgain() {
    openAll();
    fleet.clock.advance(Duration.ofSeconds(10));
    RoutingRequest request = Requests.bare();
    request.exclude(fleet.worker(1));

    Decision decision = engine.decide(request);
    assertThat(((Decision.Routed) decision).lease().worker()).isSameAs(fleet.worker(2));
    assertThat(fleet.worker(1).breaker().state()).isEqualTo(State.OPEN);
  }

  private void silence(Worker worker) {
    for (int i = 0; i < 3; i++) {
      worker.probes().silent();
    }
    assertThat(worker.health().healthy()).isFalse();
  }

  @Test
  void workersWithUnansweredProbesAreUsedIfNoneAnswers() {
    silence(fleet.worker(0));
    silence(fleet.worker(1));
    assertThat(routed().worker()).isSameAs(fleet.worker(2));

    silence(fleet.worker(2));
    for (int i = 0; i < 9; i++) {
      routed();
    }
    assertThat(fleet.fleet.snapshot().workers()).allMatch(worker -> worker.probes().ignored());
    assertThat(fleet.fleet.snapshot().workers().stream().mapToLong(Worker::lastResorts).sum())
        .isEqualTo(9);
  }

  @Test
  void oneWorkerThatAnswersEndsTheLastResort() {
    for (int i = 0; i < 3; i++) {
      silence(fleet.worker(i));
    }
    routed();
    fleet.fleet.checkProbes();
    assertThat(fleet.worker(0).probes().ignored()).isTrue();

    fleet.worker(1).probed(true);
    fleet.worker(1).probed(true);
    fleet.fleet.checkProbes();
    for (int i = 0; i < 9; i++) {
      assertThat(routed().worker()).isSameAs(fleet.worker(1));
    }
    assertThat(fleet.worker(0).probes().ignored()).isFalse();
  }

  @Test
  void unansweredProbesAreIgnoredWithoutARequestToo() {
    for (int i = 0; i < 3; i++) {
      silence(fleet.worker(i));
    }
    fleet.fleet.checkProbes();

    assertThat(fleet.worker(0).eligible(fleet.now())).isTrue();
  }

  @Test
  void workersThatRefuseConnectionsOrFailProbesStayOut() {
    silence(fleet.worker(0));
    fleet.kill(fleet.worker(1));
    for (int i = 0; i < 3; i++) {
      fleet.worker(2).probes().unreached(true);
    }

    Lease only = routed();
    assertThat(only.worker()).isSameAs(fleet.worker(0));
    only.failed(Failure.CONNECT);
    assertRefused();
  }

  @Test
  void stalledWorkerStaysStalledIfItIsTheLastResort() {
    for (int i = 0; i < 3; i++) {
      fleet.lease(fleet.worker(i));
    }
    fleet.clock.advance(Duration.ofMinutes(5));
    fleet.fleet.checkStalls();
    fleet.clock.advance(Duration.ofSeconds(1));

    Lease first = routed();
    for (int i = 0; i < 8; i++) {
      routed();
    }
    assertThat(first.worker().stalled()).isTrue();
    first.progressed();
    assertThat(routed().worker()).isSameAs(first.worker());
    assertThat(routed().worker()).isSameAs(first.worker());
  }

  /** The time of such a rest is the router's guess, so the rest does not refuse a request. */
  @Test
  void workerThatNamedNoTimeServesIfAllRest() {
    for (int i = 0; i < 3; i++) {
      fleet.worker(i).rest(1_000_000_000L, 503);
    }
    assertThat(((Decision.Rejected) decide()).reason()).isEqualTo(RejectReason.ALL_BUSY);
    fleet.clock.advance(Duration.ofSeconds(1));

    fleet.worker(0).rest(1_000_000_000L, 503);
    fleet.worker(1).restBriefly(1_000_000_000L, 529);
    assertThat(routed().worker()).as("the only one without a rest").isSameAs(fleet.worker(2));
    fleet.worker(2).restBriefly(1_000_000_000L, 529);
    assertThat(routed().worker()).as("the least loaded").isSameAs(fleet.worker(1));
  }

  @Test
  void furtherAttemptsRespectEachRest() {
    for (int i = 0; i < 3; i++) {
      fleet.worker(i).restBriefly(1_000_000_000L, 529);
    }
    RoutingRequest tried = Requests.bare();
    tried.exclude(fleet.worker(0));
    assertThat(engine.decide(tried)).isInstanceOf(Decision.Rejected.class);
  }
}
