package io.pointsman.engine.fleet;

import static io.pointsman.engine.fleet.HealthState.Status.HEALTHY;
import static io.pointsman.engine.fleet.HealthState.Status.SUSPECT;
import static io.pointsman.engine.fleet.HealthState.Status.UNHEALTHY;
import static io.pointsman.engine.fleet.HealthState.Status.UNKNOWN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.fleet.HealthState.Status;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HealthStateTest {
  private final List<Status> changes = new ArrayList<>();
  private final HealthState health = health();

  private HealthState health() {
    HealthState[] made = new HealthState[1];
    made[0] = new HealthState(new HealthSettings(3, 2), () -> changes.add(made[0].status()));
    return made[0];
  }

  /**
   * Applies one event for each character. + is a good probe, - a failed one, and t one that timed
   * out. b accepts requests, but did not answer a probe. x is a refused connection.
   */
  private void happens(String events) {
    for (int i = 0; i < events.length(); i++) {
      switch (events.charAt(i)) {
        case '+' -> health.probed(true);
        case '-' -> health.probed(false);
        case 'b' -> health.alive();
        case 't' -> health.silent();
        case 'x' -> health.refused();
        default -> throw new AssertionError(events);
      }
    }
  }

  @ParameterizedTest(name = "{0} -> {1}")
  @CsvSource({
    "'', UNKNOWN",
    "+, HEALTHY",
    "-, UNHEALTHY",
    "x, UNKNOWN",
    // One good probe makes a worker healthy that never was.
    "----+, HEALTHY",
    // Exactly failureThreshold consecutive failed probes make a healthy worker unhealthy.
    "+--, HEALTHY",
    "+---, UNHEALTHY",
    "+--+--, HEALTHY",
    // Bytes of responses count as a good probe.
    "+--b--, HEALTHY",
    "+--b---, UNHEALTHY",
    "+---b, UNHEALTHY",
    "+---bb, HEALTHY",
    "+xb, HEALTHY",
    "b, UNKNOWN",
    // It then needs successThreshold consecutive good probes.
    "+---+, UNHEALTHY",
    "+---++, HEALTHY",
    "+---+-+, UNHEALTHY",
    "+---+-++, HEALTHY",
    // A refused connection excludes it at once; the next good probe brings it back.
    "+x, SUSPECT",
    "+xx, SUSPECT",
    "+x+, HEALTHY",
    "+x-, UNHEALTHY",
    "+xt, UNHEALTHY",
    "+-tt, UNHEALTHY",
    "+x--+, HEALTHY",
    "+---x++, HEALTHY",
    // A refusal resets the count of failures.
    "+--x+--, HEALTHY",
    "+x+---+, UNHEALTHY",
  })
  void eventsLeadTo(String events, Status end) {
    happens(events);

    assertThat(health.status()).isEqualTo(end);
    assertThat(health.healthy()).isEqualTo(end == HEALTHY);
  }

  @Test
  void eachChangeIsReportedOnce() {
    happens("++---++x+");

    assertThat(changes).containsExactly(HEALTHY, UNHEALTHY, HEALTHY, SUSPECT, HEALTHY);
    assertThat(changes).doesNotContain(UNKNOWN);
  }

  @Test
  void settingsOutOfRangeAreRefusedByName() {
    assertThatThrownBy(() -> new HealthSettings(0, 1))
        .hasMessage("failureThreshold: 0 (expected: >= 1)");
    assertThatThrownBy(() -> new HealthSettings(1, 0))
        .hasMessage("successThreshold: 0 (expected: >= 1)");
  }

  @ParameterizedTest(name = "{0}: {1}")
  @CsvSource({
    "'', 0",
    "---, 0",
    "+, 0",
    "+--, 0",
    "+---, 1",
    "+---+-, 1",
    "+x, 1",
    "+x-, 1",
    "+x+x, 2"
  })
  void outagesAreCounted(String events, int outages) {
    happens(events);
    assertThat(health.outages()).isEqualTo(outages);
  }

  @ParameterizedTest(name = "{0}: {1}")
  @CsvSource({
    "x-, 0",
    "+---, 0",
    "+x, 0",
    "+x+-, 0",
    "+xt, 0",
    "+xb-, 0",
    "+x-, 1",
    "+xx--+, 1",
    "+x-+---, 1",
    "+x-+x-, 2"
  })
  void refusalsThatAProbeConfirmsAreRestarts(String events, int restarts) {
    happens(events);
    assertThat(health.restarts()).isEqualTo(restarts);
  }
}
