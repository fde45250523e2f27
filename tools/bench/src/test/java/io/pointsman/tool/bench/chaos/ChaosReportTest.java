package io.pointsman.tool.bench.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Conditions under which a chaos run reaches its target. */
class ChaosReportTest {
  private static final long SECOND = 1_000_000_000L;

  private final ResultTally tally = new ResultTally();
  private List<Strikes.Strike> strikes = List.of();
  private int seconds = 1;
  private int available = 1;
  private int looks = 100;
  private int leftInFlight;
  private int leftOpen;
  private Hostile.@Nullable Losses losses;

  private boolean reached(long cutOnEngines) {
    ChaosRun.Setup setup =
        new ChaosRun.Setup(List.of(), seconds, 2, 10, 1, 1000, 1, losses != null);
    RouterUnderTest.Metrics metrics = new RouterUnderTest.Metrics("");
    Availability availability = new Availability();
    for (int i = 0; i < looks; i++) {
      availability.saw(i == looks / 2 ? available : 2, i * SECOND / 10);
    }
    ChaosReport.Witness witness =
        new ChaosReport.Witness(cutOnEngines, availability, leftInFlight, leftOpen, losses);
    return new ChaosReport(setup, 1, strikes, witness, tally, List.of(), metrics, "").reached();
  }

  private void ended(End end, int times) {
    for (int i = 0; i < times; i++) {
      tally.ended(end, true, SECOND, "");
    }
  }

  @Test
  void streamsThatEnginesCutArePermitted() {
    ended(End.SERVED, 10);
    ended(End.STREAM_ENDED_WITH_ERROR, 2);
    ended(End.STREAM_ENDED_AT_ITS_HEAD, 1);

    assertThat(reached(3)).isTrue();
  }

  @Test
  void moreCutStreamsThanEnginesCutFailTheRun() {
    ended(End.SERVED, 10);
    ended(End.STREAM_ENDED_WITH_ERROR, 2);
    ended(End.STREAM_ENDED_AT_ITS_HEAD, 1);

    assertThat(reached(2)).isFalse();
  }

  @Test
  void aCutStreamOfAHealthyEngineFailsTheRun() {
    ended(End.SERVED, 10);
    ended(End.HEALTHY_STREAM_ENDED, 1);

    assertThat(reached(5)).isFalse();
  }

  @Test
  void aRequestLeftInFlightFailsTheRun() {
    ended(End.SERVED, 10);
    leftInFlight = 1;

    assertThat(reached(5)).isFalse();
  }

  @Test
  void connectionsLeftOpenFailTheRun() {
    ended(End.SERVED, 10);
    leftOpen = 9;

    assertThat(reached(5)).isFalse();
  }

  @Test
  void aRunWithFewerPollsThanFaultsFails() {
    ended(End.SERVED, 10);
    strikes =
        Stream.of(ChaosFault.values()).map(fault -> new Strikes.Strike(0, 0, fault, 1000)).toList();
    looks = strikes.size() + 1;
    assertThat(reached(5)).isTrue();

    looks = strikes.size();
    assertThat(reached(5)).isFalse();
  }

  @Test
  void availabilityReportsTheFewestWorkersAndTheLongestGap() {
    Availability availability = new Availability();
    availability.saw(3, SECOND);
    availability.saw(1, 2 * SECOND);
    availability.saw(8, 5 * SECOND);

    assertThat(availability.least()).isEqualTo(1);
    assertThat(availability.looks()).isEqualTo(3);
    assertThat(availability.longestGapMillis()).isEqualTo(3000);
  }

  @Test
  void aMomentWithoutAvailableWorkerFailsTheRun() {
    ended(End.SERVED, 10);
    available = 0;

    assertThat(reached(5)).isFalse();
  }

  @Test
  void aRunInWhichNoEngineCutAnythingFails() {
    ended(End.SERVED, 10);

    assertThat(reached(0)).isFalse();
  }

  @Test
  void aLongRunWithoutEachKindOfFaultFails() {
    ended(End.SERVED, 10);
    seconds = 60;
    strikes =
        Stream.of(ChaosFault.values()).map(fault -> new Strikes.Strike(0, 0, fault, 1000)).toList();
    assertThat(reached(5)).isTrue();

    strikes = strikes.subList(1, strikes.size());
    assertThat(reached(5)).isFalse();
  }

  @Test
  void aRunWithoutServedRequestFails() {
    assertThat(reached(5)).isFalse();
  }

  @Test
  void aRequestThatEndsMoreThanTwoEnginesFailsTheRun() {
    ended(End.SERVED, 10);
    ended(End.POISON_REFUSED, 4);
    ended(End.LEFT, 2);
    losses = new Hostile.Losses(4, 8, 2);
    assertThat(reached(5)).isTrue();

    losses = new Hostile.Losses(4, 8, 3);
    assertThat(reached(5)).isFalse();
    losses = new Hostile.Losses(4, 0, 0);
    assertThat(reached(5)).as("no engine was ended").isFalse();
  }

  @Test
  void aHostileRunPoisonsOneRequestOf500() {
    Hostile hostile = new Hostile(1);
    int poisons = 0;
    int impatient = 0;
    for (int i = 1; i <= 250_000; i++) {
      poisons += hostile.next().isEmpty() ? 0 : 1;
      impatient += hostile.patienceMillis() > 0 ? 1 : 0;
    }
    assertThat(poisons).isEqualTo(500);
    assertThat(impatient).isBetween(24_000, 26_000);
    String counts = "3,4,5,2" + ",0".repeat(Hostile.POISONS - 4);
    assertThat(hostile.losses(counts)).isEqualTo(new Hostile.Losses(500, 14, 2));
    assertThatThrownBy(() -> Hostile.plan(3, 60)).hasMessageStartingWith("engines: 3");
  }

  @Test
  void aFaultExplainsOnlyStreamsOfItsEngineInItsTime() {
    Afflictions afflictions = new Afflictions();
    afflictions.add("a", 10 * SECOND, 1000);

    assertThat(afflictions.explain("a", 8 * SECOND, 10 * SECOND)).isTrue();
    assertThat(afflictions.explain("a", 11 * SECOND, 20 * SECOND)).isTrue();
    assertThat(afflictions.explain("a", 8 * SECOND, 9 * SECOND)).isFalse();
    assertThat(afflictions.explain("a", 20 * SECOND, 21 * SECOND)).isFalse();
    assertThat(afflictions.explain("b", 8 * SECOND, 12 * SECOND)).isFalse();
  }

  @Test
  void aMissingMetricIsAnErrorAndNotZero() throws IOException {
    RouterUnderTest.Metrics metrics =
        new RouterUnderTest.Metrics("workers{state=\"up\"} 2\nworkers{state=\"down\"} 0\n");

    assertThat(metrics.sum("workers", "")).isEqualTo(2);
    assertThat(metrics.sum("workers", "state=\"down\"")).isZero();
    assertThatThrownBy(() -> metrics.sum("worker", "")).hasMessageStartingWith("worker: missing");
  }
}
