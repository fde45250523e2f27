package io.pointsman.engine.fleet;

import static io.pointsman.engine.fleet.CircuitBreaker.State.CLOSED;
import static io.pointsman.engine.fleet.CircuitBreaker.State.HALF_OPEN;
import static io.pointsman.engine.fleet.CircuitBreaker.State.OPEN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.fleet.CircuitBreaker.TrialTurn;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class CircuitBreakerTest {
  private static final BreakerSettings SETTINGS =
      new BreakerSettings(true, 4, 2, Duration.ofSeconds(60), Duration.ofSeconds(120));

  private final FakeClock clock = new FakeClock();
  private final List<State> changes = new ArrayList<>();
  private final CircuitBreaker breaker = breaker(SETTINGS);

  private CircuitBreaker breaker(BreakerSettings settings) {
    CircuitBreaker[] made = new CircuitBreaker[1];
    made[0] =
        new CircuitBreaker(settings, CircuitBreakerTest::open, () -> changes.add(made[0].state()));
    return made[0];
  }

  private void fail(Failure failure, int times) {
    for (int i = 0; i < times; i++) {
      breaker.failed(false, failure, clock.nanos());
    }
  }

  private void open() {
    fail(Failure.ERROR, 4);
  }

  private void openByConnect() {
    fail(Failure.CONNECT, 2);
  }

  private void halfOpen() {
    open();
    clock.advance(SETTINGS.openFor());
    assertThat(breaker.admit(clock.nanos())).isEqualTo(TrialTurn.PROBE);
  }

  private static final BreakerSettings OFF =
      new BreakerSettings(false, 4, 2, Duration.ofSeconds(60), Duration.ofSeconds(120));

  @Test
  void aBreakerThatIsSwitchedOffCloses() {
    open();
    breaker.configure(OFF);

    assertThat(breaker.state()).isEqualTo(CLOSED);
    assertThat(breaker.admit(clock.nanos())).isEqualTo(TrialTurn.ADMITTED);
  }

  @Test
  void aProbeThatFailsAfterTheSwitchOffLeavesTheWorkerInService() {
    halfOpen();
    breaker.configure(OFF);
    breaker.failed(true, Failure.ERROR, clock.nanos());
    breaker.configure(SETTINGS);

    assertThat(breaker.state()).isEqualTo(CLOSED);
    assertThat(breaker.admits(clock.nanos())).isTrue();
    halfOpen();
  }

  /** An action on a breaker, with a name for the test report. */
  record Event(String name, Consumer<CircuitBreakerTest> happens) {
    @Override
    public String toString() {
      return name;
    }
  }

  private static Event event(String name, Consumer<CircuitBreakerTest> happens) {
    return new Event(name, happens);
  }

  private static final Event CLOSED_ONE = event("a closed one", _ -> {});
  private static final Event OPEN_ONE = event("an open one", CircuitBreakerTest::open);
  private static final Event REFUSED_ONE =
      event("one opened by refusals", CircuitBreakerTest::openByConnect);
  private static final Event HALF_OPEN_ONE = event("a half-open one", CircuitBreakerTest::halfOpen);

  static Stream<Arguments> transitions() {
    Event success = event("success", t -> t.breaker.succeeded(false));
    Event probeSuccess = event("probe's success", t -> t.breaker.succeeded(true));
    Event secondProbe =
        event(
            "two probes' success",
            t -> {
              t.breaker.succeeded(true);
              t.breaker.admit(t.clock.nanos());
              t.breaker.succeeded(true);
            });
    Event failure = event("failure", t -> t.fail(Failure.ERROR, 1));
    Event failures = event("threshold of failures", t -> t.fail(Failure.TIMEOUT, 4));
    Event probeFailure =
        event("probe's failure", t -> t.breaker.failed(true, Failure.ERROR, t.clock.nanos()));
    Event ignored = event("ignored", t -> t.breaker.ignored(false));
    Event probeIgnored = event("probe ignored", t -> t.breaker.ignored(true));
    Event early = event("a request too early", t -> t.admitAfter(Duration.ofSeconds(59)));
    Event late = event("a request in time", t -> t.admitAfter(Duration.ofSeconds(60)));
    Event reachable = event("good health probe", t -> t.breaker.reachable());
    return Stream.of(
        arguments(CLOSED_ONE, success, CLOSED),
        arguments(CLOSED_ONE, failure, CLOSED),
        arguments(CLOSED_ONE, ignored, CLOSED),
        arguments(CLOSED_ONE, late, CLOSED),
        arguments(CLOSED_ONE, reachable, CLOSED),
        arguments(CLOSED_ONE, failures, OPEN),
        arguments(OPEN_ONE, success, OPEN),
        arguments(OPEN_ONE, failures, OPEN),
        arguments(OPEN_ONE, ignored, OPEN),
        arguments(OPEN_ONE, early, OPEN),
        arguments(OPEN_ONE, reachable, OPEN),
        arguments(OPEN_ONE, late, HALF_OPEN),
        arguments(REFUSED_ONE, early, OPEN),
        arguments(REFUSED_ONE, late, HALF_OPEN),
        arguments(REFUSED_ONE, reachable, HALF_OPEN),
        arguments(HALF_OPEN_ONE, success, HALF_OPEN),
        arguments(HALF_OPEN_ONE, failures, HALF_OPEN),
        arguments(HALF_OPEN_ONE, ignored, HALF_OPEN),
        arguments(HALF_OPEN_ONE, probeIgnored, HALF_OPEN),
        arguments(HALF_OPEN_ONE, probeSuccess, HALF_OPEN),
        arguments(HALF_OPEN_ONE, reachable, HALF_OPEN),
        arguments(HALF_OPEN_ONE, probeFailure, OPEN),
        arguments(HALF_OPEN_ONE, secondProbe, CLOSED));
  }

  private void admitAfter(Duration wait) {
    clock.advance(wait);
    breaker.admit(clock.nanos());
  }

  @ParameterizedTest(name = "{0}, {1} -> {2}")
  @MethodSource("transitions")
  void eventChangesItsState(Event start, Event event, State end) {
    start.happens.accept(this);
    event.happens.accept(this);

    assertThat(breaker.state()).isEqualTo(end);
  }

  @Test
  void refusedConnectionsOpenItWithHalfTheFailures() {
    fail(Failure.CONNECT, 1);
    assertThat(breaker.state()).isEqualTo(CLOSED);
    fail(Failure.CONNECT, 1);
    assertThat(breaker.state()).isEqualTo(OPEN);
  }

  @Test
  void twoRefusedConnectionsOpenItAtAnyThreshold() {
    for (int threshold = 1; threshold <= 12; threshold++) {
      CircuitBreaker one =
          breaker(
              new BreakerSettings(
                  true, threshold, 1, Duration.ofSeconds(1), Duration.ofSeconds(1)));
      one.failed(false, Failure.CONNECT, clock.nanos());
      one.failed(false, Failure.CONNECT, clock.nanos());
      assertThat(one.state()).as("threshold %s", threshold).isEqualTo(OPEN);
    }
  }

  @Test
  void successBetweenFailuresResetsTheCount() {
    fail(Failure.ERROR, 3);
    breaker.succeeded(false);
    fail(Failure.ERROR, 3);

    assertThat(breaker.state()).isEqualTo(CLOSED);
  }

  @Test
  void failuresFurtherApartThanTheWindowDoNotAddUp() {
    fail(Failure.ERROR, 3);
    clock.advance(SETTINGS.window().plusNanos(1));
    fail(Failure.ERROR, 3);
    assertThat(breaker.state()).isEqualTo(CLOSED);

    clock.advance(SETTINGS.window());
    fail(Failure.ERROR, 1);
    assertThat(breaker.state()).isEqualTo(OPEN);
  }

  @Test
  void disabledBreakerNeverOpens() {
    CircuitBreaker off =
        breaker(new BreakerSettings(false, 1, 1, Duration.ofSeconds(1), Duration.ofSeconds(1)));
    off.failed(false, Failure.CONNECT, clock.nanos());

    assertThat(off.state()).isEqualTo(CLOSED);
    assertThat(off.admit(clock.nanos())).isEqualTo(TrialTurn.ADMITTED);
  }

  @Test
  void halfOpenAdmitsOneRequestAtATime() {
    halfOpen();
    assertThat(breaker.admits(clock.nanos())).isFalse();
    assertThat(breaker.admit(clock.nanos())).isEqualTo(TrialTurn.REFUSED);

    breaker.succeeded(true);
    assertThat(breaker.admit(clock.nanos())).isEqualTo(TrialTurn.PROBE);
    assertThat(breaker.admit(clock.nanos())).isEqualTo(TrialTurn.REFUSED);
  }

  @Test
  void probeWithoutVerdictPermitsAnother() {
    halfOpen();
    breaker.ignored(true);

    assertThat(breaker.admit(clock.nanos())).isEqualTo(TrialTurn.PROBE);
  }

  @Test
  void requestPlacedBeforeItOpenedNeitherClosesNorReopensIt() {
    halfOpen();
    for (int i = 0; i < 5; i++) {
      breaker.succeeded(false);
    }
    breaker.failed(false, Failure.CONNECT, clock.nanos());

    assertThat(breaker.state()).isEqualTo(HALF_OPEN);
    assertThat(breaker.admit(clock.nanos())).isEqualTo(TrialTurn.REFUSED);
  }

  @Test
  void requestAdmittedByAClosedBreakerIsNoProbe() {
    halfOpen();
    breaker.succeeded(true);
    breaker.admit(clock.nanos());
    breaker.succeeded(true);

    assertThat(breaker.admit(clock.nanos())).isEqualTo(TrialTurn.ADMITTED);
  }

  @Test
  void failedProbeRestartsTheWait() {
    halfOpen();
    clock.advance(Duration.ofSeconds(30));
    breaker.failed(true, Failure.ERROR, clock.nanos());

    clock.advance(Duration.ofSeconds(59));
    assertThat(breaker.admits(clock.nanos())).isFalse();
    clock.advance(Duration.ofSeconds(1));
    assertThat(breaker.admits(clock.nanos())).isTrue();
  }

  @Test
  void queryingAdmissionTakesNoProbe() {
    open();
    clock.advance(SETTINGS.openFor());

    assertThat(breaker.admits(clock.nanos())).isTrue();
    assertThat(breaker.admits(clock.nanos())).isTrue();
    assertThat(breaker.state()).isEqualTo(OPEN);
  }

  @Test
  void failureAfterItClosedAgainNeedsTheWholeThreshold() {
    halfOpen();
    breaker.succeeded(true);
    breaker.admit(clock.nanos());
    breaker.succeeded(true);
    fail(Failure.ERROR, 3);

    assertThat(breaker.state()).isEqualTo(CLOSED);
  }

  @Test
  void eachChangeIsReportedOnceAndOpeningsAreCounted() {
    halfOpen();
    breaker.failed(true, Failure.ERROR, clock.nanos());

    assertThat(changes).containsExactly(OPEN, HALF_OPEN, OPEN);
    assertThat(breaker.opened()).isEqualTo(2);
  }

  @Test
  void clockThatWrapsAroundChangesNothing() {
    FakeClock wrapping = FakeClock.nearOverflow();
    for (int i = 0; i < 4; i++) {
      breaker.failed(false, Failure.ERROR, wrapping.nanos());
      wrapping.advance(Duration.ofMillis(200));
    }

    assertThat(breaker.state()).isEqualTo(OPEN);
    wrapping.advance(Duration.ofSeconds(59));
    assertThat(breaker.admits(wrapping.nanos())).isFalse();
    wrapping.advance(Duration.ofSeconds(1));
    assertThat(breaker.admits(wrapping.nanos())).isTrue();
  }

  @Test
  void settingsOutOfRangeAreRefusedByName() {
    assertThatThrownBy(
            () -> new BreakerSettings(true, 0, 1, Duration.ofSeconds(1), Duration.ofSeconds(1)))
        .hasMessage("failureThreshold: 0 (expected: >= 1)");
    assertThatThrownBy(
            () -> new BreakerSettings(true, 1, 0, Duration.ofSeconds(1), Duration.ofSeconds(1)))
        .hasMessage("successThreshold: 0 (expected: >= 1)");
    assertThatThrownBy(() -> new BreakerSettings(true, 1, 1, Duration.ZERO, Duration.ofSeconds(1)))
        .hasMessage("openFor: PT0S (expected: > 0)");
  }

  /** A limit that admits each opening. */
  static boolean open(Runnable opening) {
    opening.run();
    return true;
  }
}
