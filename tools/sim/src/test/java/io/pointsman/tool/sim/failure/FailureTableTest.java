package io.pointsman.tool.sim.failure;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class FailureTableTest {
  private final List<Fault.Refuse> refused = new ArrayList<>();
  private final FailureTable table = new FailureTable(new SplittableRandom(1), refused::add);

  @Test
  void countedFailureStrikesTheGivenNumberOfTimes() {
    table.times(2, new Fault.Status(500, 0));

    assertThat(draws(5)).containsExactly(1, 1, 0, 0, 0);
    assertThat(table.active().getFirst().struck()).isEqualTo(2);
  }

  @Test
  void probabilityUsesTheRandomSource() {
    table.add(ScheduledFault.always(new Fault.Status(500, 0)).withProbability(0.25));
    int struck = draws(4000).stream().mapToInt(Integer::intValue).sum();

    assertThat(struck).isBetween(800, 1200);
  }

  @Test
  void pathLimitsAFailure() {
    table.add(ScheduledFault.always(new Fault.Status(500, 0)).on("/health"));

    assertThat(table.draw("/v1/completions", true)).isEmpty();
    assertThat(table.draw("/health", false)).hasSize(1);
  }

  @Test
  void failureWithoutPathStrikesOnlyRequestsThatDoWork() {
    table.always(new Fault.Status(500, 0));

    assertThat(table.draw("/metrics", false)).isEmpty();
  }

  @Test
  void onlyOneOfAKindStrikes() {
    table.always(new Fault.Status(500, 0));
    table.always(new Fault.Status(429, 0));
    table.always(new Fault.SlowFirstToken(5));

    assertThat(table.draw("/x", true))
        .containsExactly(new Fault.Status(500, 0), new Fault.SlowFirstToken(5));
  }

  @Test
  void healthChangesWithItsPeriods() {
    table.always(new Fault.FlappingHealth(100, 50));
    List<Boolean> down = new ArrayList<>();
    for (long now = 1000; now < 1300; now += 50) {
      down.add(table.healthIsDown(now));
    }

    assertThat(down).containsExactly(false, false, true, false, false, true);
  }

  @Test
  void refusalTakesEffectAndIsNotStored() {
    assertThat(table.always(new Fault.Refuse(10))).isZero();

    assertThat(refused).containsExactly(new Fault.Refuse(10));
    assertThat(table.active()).isEmpty();
  }

  @Test
  void removedFailureStrikesNoMore() {
    int id = table.always(new Fault.MalformedChunk());

    assertThat(table.remove(id)).isTrue();
    assertThat(table.remove(id)).isFalse();
    assertThat(table.draw("/x", true)).isEmpty();
  }

  @Test
  void kindIsTheNameInSnakeCase() {
    assertThat(new Fault.ResetAfterBytes(0, false).kind()).isEqualTo("reset_after_bytes");
    assertThat(new Fault.Hang(0).kind()).isEqualTo("hang");
  }

  private List<Integer> draws(int count) {
    List<Integer> sizes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      sizes.add(table.draw("/x", true).size());
    }
    return sizes;
  }
}
