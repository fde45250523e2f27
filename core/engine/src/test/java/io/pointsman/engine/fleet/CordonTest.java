package io.pointsman.engine.fleet;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.pointsman.engine.TestFleet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Workers that an operator excludes or weighs. */
class CordonTest {
  private final TestFleet fleet = TestFleet.of(2);
  private final Worker one = fleet.worker(0);
  private final Worker other = fleet.worker(1);

  @Test
  void aCordonedWorkerGetsNothingAndKeepsItsRequests() {
    Lease running = fleet.lease(one);
    one.cordon(true);
    assertThat(one.eligible(fleet.now())).isFalse();
    assertThat(one.draining()).isTrue();
    assertThat(one.tryLease(fleet.now(), 0, 0, (_, _) -> {})).isNull();
    assertThat(fleet.pool().leastLoaded(fleet.now(), List.of(), fleet.random)).isSameAs(other);
    assertThat(one.inFlight()).isEqualTo(1);
    running.succeeded();
    assertThat(one.inFlight()).isZero();
    one.cordon(false);
    assertThat(one.eligible(fleet.now())).isTrue();
  }

  @Test
  void theWishesOfTheOperatorAndOfTheSourceAreIndependent() {
    one.cordon(true);
    one.drain(true);
    one.drain(false);
    assertThat(one.draining()).isTrue();
    assertThat(one.withdrawn()).isFalse();
    one.drain(true);
    one.cordon(false);
    assertThat(one.draining()).isTrue();
    assertThat(one.withdrawn()).isTrue();
  }

  @Test
  void loadsAreComparedByWeight() {
    one.weight(3);
    for (int i = 0; i < 400; i++) {
      Worker chosen = fleet.pool().leastLoaded(fleet.now(), List.of(), fleet.random);
      fleet.lease(requireNonNull(chosen));
    }
    assertThat(one.inFlight()).isBetween(297, 303);
    assertThat(other.inFlight()).isBetween(97, 103);
    assertThat(one.load()).isBetween(98, 102);
    one.weight(1);
    assertThat(one.load()).isEqualTo(one.inFlight());
  }

  @Test
  void theWeightComesFromTheLabel() {
    Worker light =
        fleet.add(TestFleet.spec("light").withLabels(Map.of(WorkerSpec.WEIGHT_LABEL, "0.5")));
    assertThat(light.weight()).isEqualTo(0.5);
    fleet.load(light, 2);
    assertThat(light.load()).isEqualTo(4);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> one.weight(0))
        .withMessageContaining("weight: 0.0 (expected: 0.01 to 100");
  }
}
