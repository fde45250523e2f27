package io.pointsman.control.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ProbeScheduleTest {
  private static final Duration INTERVAL = ProbeSettings.DEFAULTS.interval();

  private final FakeClock clock = FakeClock.nearOverflow();
  private final ScriptedRandomSource random = ScriptedRandomSource.seeded(7);
  private final ProbeSchedule schedule = new ProbeSchedule(ProbeSettings.DEFAULTS, random::roll);
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);

  private Worker worker(String name) {
    Worker worker = fleet.add(WorkerSpec.of("http://" + name));
    schedule.follow(fleet.snapshot().workers(), clock.nanos());
    return worker;
  }

  private boolean due() {
    return schedule.untilDue(clock.nanos()) <= 0;
  }

  /**
   * Probes the only worker when it is due.
   *
   * @return the time until it was due
   */
  private Duration probe(Worker worker, boolean good) {
    long wait = Math.max(schedule.untilDue(clock.nanos()), 0);
    clock.advance(Duration.ofNanos(wait));
    assertThat(schedule.takeDue(clock.nanos())).isSameAs(worker);
    schedule.finished(worker, good, good, clock.nanos());
    return Duration.ofNanos(wait);
  }

  @Test
  void nothingIsDueInAnEmptyFleet() {
    assertThat(schedule.takeDue(clock.nanos())).isNull();
    assertThat(schedule.untilDue(clock.nanos())).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void aNewWorkerIsDueAtOnce() {
    Worker worker = worker("a:1");
    assertThat(schedule.takeDue(clock.nanos())).isSameAs(worker);
  }

  @Test
  void aWorkerIsNotProbedTwiceAtTheSameTime() {
    worker("a:1");
    assertThat(schedule.takeDue(clock.nanos())).isNotNull();
    clock.advance(INTERVAL.multipliedBy(10));
    assertThat(schedule.takeDue(clock.nanos())).isNull();
  }

  @Test
  void workersAddedTogetherAreSpreadOverTheInterval() {
    Set<Long> waits = new HashSet<>();
    for (int i = 0; i < 50; i++) {
      Worker worker = worker("a:" + (i + 1));
      assertThat(schedule.takeDue(clock.nanos())).isSameAs(worker);
      schedule.finished(worker, true, true, clock.nanos());
      waits.add(schedule.untilDue(clock.nanos()) / 1_000_000_000);
    }
    assertThat(waits).hasSizeGreaterThan(1);
    assertThat(schedule.untilDue(clock.nanos())).isLessThan(INTERVAL.toNanos() / 4);
  }

  @Test
  void aHealthyWorkerIsProbedAtTheIntervalWithTenPercentJitter() {
    Worker worker = worker("a:1");
    probe(worker, true);
    probe(worker, true);
    for (int i = 0; i < 20; i++) {
      assertThat(probe(worker, true))
          .isBetween(
              INTERVAL.multipliedBy(9).dividedBy(10), INTERVAL.multipliedBy(11).dividedBy(10));
    }
  }

  @Test
  void anUnhealthyWorkerIsProbedSoonAndThenOnceASecond() {
    Worker worker = worker("a:1");
    probe(worker, false);
    assertThat(probe(worker, false)).isBetween(Duration.ofMillis(225), Duration.ofMillis(275));
    assertThat(probe(worker, false)).isBetween(Duration.ofMillis(450), Duration.ofMillis(550));
    for (int i = 0; i < 5; i++) {
      assertThat(probe(worker, false)).isBetween(Duration.ofMillis(900), Duration.ofMillis(1100));
    }
  }

  @Test
  void theWaitNeverExceedsAShortInterval() {
    ProbeSettings hasty =
        new ProbeSettings(
            "/health",
            List.of(),
            Duration.ofMillis(100),
            Duration.ofSeconds(1),
            Duration.ofMillis(250),
            Duration.ofSeconds(1),
            4,
            Duration.ZERO);
    ProbeSchedule quick = new ProbeSchedule(hasty, random::roll);
    Worker worker = worker("a:1");
    quick.follow(List.of(worker), clock.nanos());
    for (int i = 0; i < 5; i++) {
      assertThat(quick.takeDue(clock.nanos())).isSameAs(worker);
      quick.finished(worker, false, false, clock.nanos());
      assertThat(quick.untilDue(clock.nanos())).isLessThanOrEqualTo(110_000_000L);
      clock.advance(Duration.ofMillis(110));
    }
  }

  @Test
  void aSuspectIsDueAtOnce() {
    Worker worker = worker("a:1");
    probe(worker, true);
    assertThat(due()).isFalse();
    schedule.hurry(worker, clock.nanos());
    assertThat(due()).isTrue();
  }

  @Test
  void aSuspectUnderProbeIsProbedAgainAfterwards() {
    Worker worker = worker("a:1");
    assertThat(schedule.takeDue(clock.nanos())).isSameAs(worker);
    schedule.hurry(worker, clock.nanos());
    assertThat(due()).isFalse();
    schedule.finished(worker, true, true, clock.nanos());
    assertThat(due()).isTrue();
  }

  @Test
  void aWorkerThatHasLeftIsNotProbed() {
    Worker gone = worker("a:1");
    Worker stays = worker("b:1");
    assertThat(schedule.takeDue(clock.nanos())).isSameAs(gone);
    fleet.remove(gone.id());
    schedule.follow(fleet.snapshot().workers(), clock.nanos());
    schedule.finished(gone, true, true, clock.nanos());
    schedule.hurry(gone, clock.nanos());
    assertThat(schedule.takeDue(clock.nanos())).isSameAs(stays);
    clock.advance(INTERVAL.multipliedBy(2));
    assertThat(schedule.takeDue(clock.nanos())).isNull();
  }

  @Test
  void theMostUrgentWorkerComesFirst() {
    Worker first = worker("a:1");
    clock.advance(Duration.ofMillis(1));
    Worker second = worker("b:1");
    assertThat(schedule.takeDue(clock.nanos())).isSameAs(first);
    assertThat(schedule.takeDue(clock.nanos())).isSameAs(second);
  }

  @Test
  void modelsAreReadOnceAndThenAtTheInterval() {
    Worker worker = worker("a:1");
    assertThat(schedule.modelsDue(worker, clock.nanos())).isTrue();
    schedule.modelsSeen(worker, clock.nanos());
    assertThat(schedule.modelsDue(worker, clock.nanos())).isFalse();
    clock.advance(ProbeSettings.DEFAULTS.modelsInterval());
    assertThat(schedule.modelsDue(worker, clock.nanos())).isTrue();
  }

  @Test
  void aReturningWorkersModelsAreReadAgain() {
    Worker worker = worker("a:1");
    probe(worker, true);
    schedule.modelsSeen(worker, clock.nanos());
    probe(worker, false);
    assertThat(schedule.modelsDue(worker, clock.nanos())).isTrue();
  }

  @Test
  void configuredModelsAreNeverRead() {
    Worker worker = fleet.add(WorkerSpec.of("http://a:1").withModels(Set.of("m")));
    schedule.follow(fleet.snapshot().workers(), clock.nanos());
    assertThat(schedule.modelsDue(worker, clock.nanos())).isFalse();
  }

  @Test
  void aMissingModelMakesTheModelsDueAtOnceAndOncePerSecond() {
    Worker worker = worker("a:1");
    probe(worker, true);
    schedule.modelsSeen(worker, clock.nanos());
    assertThat(schedule.modelsDue(worker, clock.nanos())).isFalse();

    assertThat(schedule.modelMissing(worker, clock.nanos())).isTrue();
    assertThat(due()).isTrue();
    assertThat(schedule.modelsDue(worker, clock.nanos())).isTrue();

    probe(worker, true);
    schedule.modelsSeen(worker, clock.nanos());
    clock.advance(Duration.ofMillis(999));
    assertThat(schedule.modelMissing(worker, clock.nanos())).isFalse();
    assertThat(schedule.modelsDue(worker, clock.nanos())).isFalse();

    clock.advance(Duration.ofMillis(1));
    assertThat(schedule.modelMissing(worker, clock.nanos())).isTrue();
  }

  @Test
  void aListThatStaysTheSameIsReadMoreAndMoreSeldomAndLoggedOnce() {
    Worker worker = worker("a:1");
    fleet.learnModels(worker, Set.of("m"));
    int reads = 0;
    int lines = 0;
    for (int second = 0; second < 3600; second++) {
      reads += schedule.modelMissing(worker, clock.nanos()) ? 1 : 0;
      lines += schedule.warnsOfMissing(worker) ? 1 : 0;
      clock.advance(Duration.ofSeconds(1));
    }
    assertThat(reads).isLessThan(80);
    assertThat(lines).isEqualTo(1);

    fleet.learnModels(worker, Set.of("m", "n"));
    assertThat(schedule.modelMissing(worker, clock.nanos())).isTrue();
    assertThat(schedule.warnsOfMissing(worker)).isTrue();
    clock.advance(Duration.ofSeconds(1));
    assertThat(schedule.modelMissing(worker, clock.nanos())).isTrue();
  }

  @Test
  void configuredModelsAreNotReadAgain() {
    Worker worker = fleet.add(WorkerSpec.of("http://a:1").withModels(Set.of("m")));
    schedule.follow(fleet.snapshot().workers(), clock.nanos());
    probe(worker, true);

    assertThat(schedule.modelMissing(worker, clock.nanos())).isFalse();
    assertThat(schedule.warnsOfMissing(worker)).isTrue();
    assertThat(schedule.warnsOfMissing(worker)).isFalse();
    assertThat(due()).isFalse();
  }
}
