package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import org.junit.jupiter.api.Test;

/** A breaker opened by errors, and the effect of probe results. */
class WorkerRecoveryTest {
  private final TestFleet fleet = TestFleet.of(1);
  private final Worker worker = fleet.worker(0);

  private void openByErrors() {
    for (int i = 0; i < 10; i++) {
      fleet.lease(worker).failed(Failure.ERROR);
    }
    assertThat(worker.breaker().state()).isEqualTo(CircuitBreaker.State.OPEN);
  }

  @Test
  void workerBackFromAnOutageIsTriedAtOnce() {
    openByErrors();
    fleet.kill(worker);
    worker.probed(true);
    worker.probed(true);

    assertThat(worker.breaker().state()).isEqualTo(CircuitBreaker.State.HALF_OPEN);
    assertThat(worker.eligible(fleet.now())).isTrue();
  }

  @Test
  void workerBackFromAnOutageRestsNoLonger() {
    worker.rest(1_000_000_000L, 429);
    fleet.kill(worker);
    worker.probed(true);
    worker.probed(true);

    assertThat(worker.restState().left(fleet.now())).isZero();
    assertThat(worker.eligible(fleet.now())).isTrue();
  }

  @Test
  void workerWithoutAnOutageContinuesToRest() {
    worker.rest(1_000_000_000L, 429);
    worker.probed(true);
    worker.probed(true);

    assertThat(worker.restState().left(fleet.now())).isPositive();
    assertThat(worker.eligible(fleet.now())).isFalse();
  }

  @Test
  void workerWithoutAnOutageStaysExcluded() {
    openByErrors();
    worker.probed(true);
    worker.probed(false);
    worker.probed(true);

    assertThat(worker.breaker().state()).isEqualTo(CircuitBreaker.State.OPEN);
    assertThat(worker.eligible(fleet.now())).isFalse();
  }
}
