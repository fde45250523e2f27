package io.pointsman.engine.fleet;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** New workers, which get their share little by little. */
class SlowStartTest {
  private static final Duration TIME = Duration.ofSeconds(10);

  private final TestFleet fleet =
      new TestFleet(
          new FleetSettings(
              16,
              HealthSettings.DEFAULTS,
              BreakerSettings.DEFAULTS.withMaxEjectedShare(1),
              StallSettings.DEFAULTS,
              0,
              TIME));
  private final Worker old = fleet.add(TestFleet.spec("old", TestFleet.MODEL));

  private int placedOn(Worker worker, int requests) {
    int before = worker.inFlight();
    for (int i = 0; i < requests; i++) {
      Worker chosen = fleet.pool().leastLoaded(fleet.now(), List.of(), fleet.random);
      fleet.lease(requireNonNull(chosen));
    }
    return worker.inFlight() - before;
  }

  @Test
  void workersOfANewFleetBeginWithTheirFullShare() {
    Worker other = fleet.add(TestFleet.spec("other", TestFleet.MODEL));
    assertThat(placedOn(other, 100)).isBetween(49, 51);
  }

  @Test
  void aNewWorkerGetsLittleAtFirstAndItsShareInTheEnd() {
    fleet.clock.advance(Duration.ofMinutes(1));
    fleet.load(old, 20);
    Worker added = fleet.add(TestFleet.spec("new", TestFleet.MODEL));
    assertThat(added.share(fleet.now())).isEqualTo(0.1);
    assertThat(placedOn(added, 10)).isLessThanOrEqualTo(4);
    fleet.clock.advance(TIME.dividedBy(2));
    assertThat(added.share(fleet.now())).isEqualTo(0.5);
    fleet.clock.advance(TIME);
    assertThat(added.share(fleet.now())).isEqualTo(1);
    assertThat(added.load()).isEqualTo(added.inFlight());
    int gap = old.inFlight() - added.inFlight();
    assertThat(placedOn(added, gap)).isEqualTo(gap);
  }

  @Test
  void aWorkerThatComesBackIsColdAgain() {
    fleet.clock.advance(Duration.ofMinutes(1));
    fleet.kill(old);
    for (int i = 0; i < 3; i++) {
      old.probed(true);
    }
    assertThat(old.health().healthy()).isTrue();
    assertThat(old.share(fleet.now())).isEqualTo(0.1);
  }
}
