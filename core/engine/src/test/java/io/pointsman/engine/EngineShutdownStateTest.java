package io.pointsman.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.BreakerSettings;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A worker with an engine that shuts down, as its answers show, while its probes succeed. */
class EngineShutdownStateTest {
  private final TestFleet fleet = TestFleet.of(2);
  private final Worker worker = fleet.worker(0);
  private final Worker other = fleet.worker(1);
  private final RoutingEngine engine =
      new RoutingEngine(
          fleet.fleet,
          new PolicySetup(pool -> (_, now) -> pool.random(now, List.of(), fleet.random), List.of()),
          EngineSettings.DEFAULTS,
          new RecordedEvents(),
          fleet.clock::nanos,
          fleet.random);

  private boolean eligible() {
    return worker.eligible(fleet.now());
  }

  private void passTime(long millis) {
    fleet.clock.advance(Duration.ofMillis(millis));
  }

  @Test
  void itGetsNoRequestsThoughItsProbesSucceed() {
    worker.shutsDown();
    worker.probed(true);
    passTime(9_999);
    worker.probed(true);

    assertThat(eligible()).isFalse();
    assertThat(worker.shuttingDown()).isTrue();
    assertThat(worker.draining()).as("a drain command").isFalse();
  }

  @Test
  void itServesAgainAfterItsProbesFailedAndSucceeded() {
    worker.shutsDown();
    while (worker.health().healthy()) {
      worker.probed(false);
    }
    passTime(1);
    while (!worker.health().healthy()) {
      worker.probed(true);
    }

    assertThat(worker.shuttingDown()).isFalse();
    assertThat(eligible()).isTrue();
  }

  @Test
  void aRefusedConnectionAndAGoodProbeAreARestart() {
    Lease lease = fleet.lease(worker);
    worker.shutsDown();
    lease.failed(Failure.CONNECT);
    worker.probed(true);

    assertThat(eligible()).isTrue();
  }

  @Test
  void oneTrialAtATimeIsAdmittedAndItsAnswerEndsTheState() {
    worker.shutsDown();
    passTime(10_000);
    assertThat(eligible()).isTrue();
    Lease trial = fleet.lease(worker);
    assertThat(eligible()).as("a second trial").isFalse();
    trial.refused();
    assertThat(worker.shuttingDown()).as("after a client error").isTrue();
    passTime(10_000);
    fleet.lease(worker).succeeded();

    assertThat(worker.shuttingDown()).isFalse();
  }

  @Test
  void anAnswerToAnEarlierRequestIsNoTrial() {
    Lease before = fleet.lease(worker);
    worker.shutsDown();
    passTime(1);
    before.succeeded();

    assertThat(worker.shuttingDown()).isTrue();
  }

  @Test
  void withoutAnotherWorkerATrialIsDueAfterASecond() {
    worker.shutsDown();
    other.drain(true);
    passTime(999);
    assertThat(engine.decide(Requests.bare())).isInstanceOf(Decision.Rejected.class);
    passTime(1);
    Decision decision = engine.decide(Requests.bare());

    assertThat(((Decision.Routed) decision).lease().worker()).isEqualTo(worker);
    assertThat(engine.decide(Requests.bare())).isInstanceOf(Decision.Rejected.class);
  }

  /** One request could cause the signs at each engine that it is tried on. */
  @Test
  void signsExcludeAtMostTheShareOfTheFleetThatFailuresDo() {
    TestFleet limited = new TestFleet(FleetSettings.DEFAULTS);
    List<Worker> workers =
        Stream.of("a", "b", "c", "d").map(id -> limited.add(TestFleet.spec(id, "m"))).toList();
    workers.forEach(Worker::shutsDown);

    assertThat(workers).allMatch(Worker::shuttingDown);
    assertThat(workers.stream().filter(each -> !each.eligible(limited.now()))).hasSize(2);
    assertThat(workers.stream().filter(Worker::closing)).hasSize(2);
    workers.forEach(Worker::shutsDown);
    assertThat(limited.fleet.ejections().refused()).as("once for each worker").isEqualTo(2);
    long sign = limited.now();
    limited.clock.advance(Duration.ofMillis(1));
    assertThat(workers.get(3).shuttingDownSince(sign)).isTrue();
    assertThat(workers.get(3).shuttingDownSince(limited.now())).as("a later request").isFalse();
    limited.lease(workers.get(3)).succeeded();
    assertThat(workers.get(3).shuttingDown()).as("it has served a later request").isFalse();
    assertThat(workers.get(0).shuttingDown()).isTrue();
  }

  /** A rolling restart: the first engine is back when the second one shuts down. */
  @Test
  void eachOfTwoEnginesThatShutDownInTurnIsExcluded() {
    TestFleet limited = new TestFleet(FleetSettings.DEFAULTS);
    Worker first = limited.add(TestFleet.spec("a", "m"));
    Worker second = limited.add(TestFleet.spec("b", "m"));
    for (Worker each : List.of(first, second)) {
      each.shutsDown();
      assertThat(each.eligible(limited.now())).isFalse();
      while (each.health().healthy()) {
        each.probed(false);
      }
      while (!each.health().healthy()) {
        each.probed(true);
      }
      assertThat(each.shuttingDown()).isFalse();
      assertThat(each.eligible(limited.now())).isTrue();
    }
    assertThat(limited.fleet.ejections().refused()).isZero();
  }

  @Test
  void anOnlyWorkerMayBeExcluded() {
    TestFleet limited = new TestFleet(FleetSettings.DEFAULTS);
    Worker only = limited.add(TestFleet.spec("a", "m"));
    only.shutsDown();

    assertThat(only.eligible(limited.now())).isFalse();
  }

  @Test
  void withAShareOf0SignsExcludeNoWorker() {
    FleetSettings all = FleetSettings.DEFAULTS;
    BreakerSettings none = all.breaker().withMaxEjectedShare(0);
    TestFleet limited =
        new TestFleet(new FleetSettings(all.maxWorkers(), all.health(), none, all.stall()));
    Worker only = limited.add(TestFleet.spec("a", "m"));
    only.shutsDown();

    assertThat(only.closing()).isFalse();
    assertThat(only.eligible(limited.now())).isTrue();
  }

  @Test
  void abortsAreWantedForAMinuteAfterARequestForThem() {
    assertThat(worker.abortsWanted()).isFalse();
    worker.abortsOnRequest();
    passTime(59_999);
    assertThat(worker.abortsWanted()).isTrue();
    passTime(1);
    assertThat(worker.abortsWanted()).isFalse();
    worker.sleep(true);
    assertThat(worker.abortsWanted()).isTrue();
  }
}
