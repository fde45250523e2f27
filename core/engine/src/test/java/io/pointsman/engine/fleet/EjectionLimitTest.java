package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RecordedEvents;
import io.pointsman.engine.Requests;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.policy.LeastLoadPolicy;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The share of the workers of a model that breakers exclude. */
class EjectionLimitTest {
  private static TestFleet fleet(double share, int size) {
    FleetSettings all = FleetSettings.DEFAULTS;
    TestFleet fleet =
        new TestFleet(
            new FleetSettings(
                all.maxWorkers(),
                all.health(),
                all.breaker().withMaxEjectedShare(share),
                all.stall()));
    for (int i = 0; i < size; i++) {
      fleet.add(TestFleet.spec("w" + i, TestFleet.MODEL));
    }
    return fleet;
  }

  private static void fail(TestFleet fleet, Worker worker) {
    for (int i = 0; i < 10; i++) {
      Lease lease = worker.tryLease(fleet.now(), 0, 0, (_, _) -> {});
      if (lease != null) {
        lease.failed(Failure.ERROR);
      }
    }
  }

  private static long open(TestFleet fleet) {
    return fleet.fleet.snapshot().workers().stream()
        .filter(worker -> worker.breaker().state() != State.CLOSED)
        .count();
  }

  @ParameterizedTest
  @CsvSource({
    "0.5, 4, 2",
    "0.5, 3, 1",
    "0.5, 2, 1",
    "0.5, 1, 0",
    "0.1, 4, 1",
    "0, 4, 0",
    "0.99, 4, 3",
    "1, 4, 4"
  })
  void isNotExceeded(double share, int workers, int most) {
    TestFleet fleet = fleet(share, workers);
    fleet.fleet.snapshot().workers().forEach(worker -> fail(fleet, worker));
    assertThat(open(fleet)).isEqualTo(most);
    assertThat(fleet.fleet.ejections().refused()).isEqualTo(workers - most);
  }

  /** Four clients leave the worker without a byte, within the time in which it should answer. */
  private static void desert(TestFleet fleet, Worker worker) {
    for (int i = 0; i < 4; i++) {
      Lease lease = worker.tryLease(fleet.now(), 0, 0, (_, _) -> {});
      fleet.clock.advance(Duration.ofSeconds(10));
      if (lease != null) {
        lease.clientLeft();
        lease.ignored();
      }
    }
  }

  private static long stalled(TestFleet fleet) {
    return fleet.fleet.snapshot().workers().stream().filter(Worker::stalled).count();
  }

  /** Clients, or a proxy without a key, could report it about each worker. */
  @ParameterizedTest
  @CsvSource({"0.5, 4, 2", "0.5, 3, 1", "0.5, 2, 1", "0.5, 1, 1", "0, 4, 0", "0, 1, 0", "1, 4, 4"})
  void isNotExceededByClientsThatLeave(double share, int workers, int most) {
    TestFleet fleet = fleet(share, workers);
    fleet.fleet.snapshot().workers().forEach(worker -> desert(fleet, worker));
    assertThat(stalled(fleet)).isEqualTo(most);
  }

  @Test
  void isNotExceededBySilence() {
    TestFleet fleet = fleet(0.5, 4);
    for (Worker worker : fleet.fleet.snapshot().workers()) {
      Lease lease = worker.tryLease(fleet.now(), 0, 0, (_, _) -> {});
      assertThat(lease).isNotNull();
    }
    fleet.clock.advance(Duration.ofMinutes(5));
    for (int i = 0; i < 3; i++) {
      fleet.fleet.checkStalls();
      assertThat(stalled(fleet)).isEqualTo(2);
      assertThat(fleet.fleet.ejections().refused()).as("once for each worker").isEqualTo(2);
    }
  }

  @Test
  void stalledWorkersAndOpenBreakersCountTogether() {
    TestFleet fleet = fleet(0.5, 4);
    List<Worker> workers = fleet.fleet.snapshot().workers();
    desert(fleet, workers.get(0));
    workers.subList(1, 4).forEach(worker -> fail(fleet, worker));
    assertThat(stalled(fleet)).isEqualTo(1);
    assertThat(open(fleet)).isEqualTo(1);
    desert(fleet, workers.get(3));
    assertThat(workers.get(3).stalled()).isFalse();
  }

  @Test
  void countsEachModel() {
    TestFleet fleet = fleet(0.5, 4);
    List<Worker> workers = fleet.fleet.snapshot().workers();
    fleet.fleet.learnModels(workers.get(0), Set.of("a"));
    fleet.fleet.learnModels(workers.get(1), Set.of("a"));
    fleet.fleet.learnModels(workers.get(2), Set.of("b"));
    fleet.fleet.learnModels(workers.get(3), Set.of("b"));
    fail(fleet, workers.get(0));
    fail(fleet, workers.get(1));
    fail(fleet, workers.get(2));
    fail(fleet, workers.get(3));
    assertThat(open(fleet)).isEqualTo(2);
    assertThat(workers.get(1).breaker().state()).isEqualTo(State.CLOSED);
    assertThat(workers.get(3).breaker().state()).isEqualTo(State.CLOSED);
  }

  @Test
  void lastHealthyWorkerStaysAlthoughTheShareWouldAdmitIt() {
    TestFleet fleet = fleet(0.5, 4);
    List<Worker> workers = fleet.fleet.snapshot().workers();
    workers.subList(1, 4).forEach(worker -> worker.drain(true));
    fail(fleet, workers.get(0));
    assertThat(open(fleet)).isZero();
  }

  @Test
  void excludedWorkerServesWhenTheOthersAreGone() {
    TestFleet fleet = fleet(0.5, 2);
    Worker first = fleet.fleet.snapshot().workers().get(0);
    Worker second = fleet.fleet.snapshot().workers().get(1);
    fail(fleet, first);
    assertThat(first.breaker().state()).isEqualTo(State.OPEN);
    RoutingEngine engine =
        new RoutingEngine(
            fleet.fleet,
            new PolicySetup(new LeastLoadPolicy(fleet.random), List.of()),
            EngineSettings.DEFAULTS,
            new RecordedEvents(),
            fleet.clock::nanos,
            fleet.random);
    assertThat(engine.decide(Requests.bare()))
        .isInstanceOfSatisfying(
            Decision.Routed.class, r -> assertThat(r.lease().worker()).isSameAs(second));
    second.drain(true);
    assertThat(engine.decide(Requests.bare()))
        .isInstanceOfSatisfying(
            Decision.Routed.class, r -> assertThat(r.lease().worker()).isSameAs(first));
    assertThat(first.breaker().state()).isEqualTo(State.CLOSED);
  }

  @Test
  void withdrawnFailureClosesTheBreakerThatItOpened() {
    TestFleet fleet = fleet(1, 1);
    Worker worker = fleet.fleet.snapshot().workers().getFirst();
    fail(fleet, worker);
    int run = worker.breaker().run();
    assertThat(worker.breaker().state()).isEqualTo(State.OPEN);
    worker.forgive(run);
    assertThat(worker.breaker().state()).isEqualTo(State.CLOSED);
    worker.charge(Failure.ERROR);
    assertThat(worker.breaker().state()).isEqualTo(State.OPEN);
  }

  @Test
  void failureOfAnEarlierRunIsNotWithdrawn() {
    TestFleet fleet = fleet(1, 1);
    Worker worker = fleet.fleet.snapshot().workers().getFirst();
    worker.charge(Failure.ERROR);
    int run = worker.breaker().run();
    fleet.lease(worker).succeeded();
    worker.charge(Failure.ERROR);
    worker.forgive(run);
    assertThat(worker.breaker().charged()).isTrue();
    fleet.clock.advance(Duration.ofHours(1));
    worker.charge(Failure.ERROR);
    worker.forgive(worker.breaker().run());
    assertThat(worker.breaker().charged()).isFalse();
  }

  @Test
  void failureOfTheRequestIsNoVerdictOfAProbe() {
    TestFleet fleet = fleet(1, 1);
    Worker worker = fleet.fleet.snapshot().workers().getFirst();
    fail(fleet, worker);
    fleet.clock.advance(BreakerSettings.DEFAULTS.openFor());
    fleet.lease(worker).settle(new Outcome.Failed(Failure.ERROR, false));
    assertThat(worker.breaker().state()).isEqualTo(State.HALF_OPEN);
    assertThat(worker.eligible(fleet.now())).isTrue();
  }
}
