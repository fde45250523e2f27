package io.pointsman.tool.bench.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.bench.chaos.Strikes.Strike;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StrikesTest {
  @Test
  void theSameSeedGivesTheSamePlan() {
    assertThat(Strikes.plan(7, 8, 60)).isEqualTo(Strikes.plan(7, 8, 60));
    assertThat(Strikes.plan(7, 8, 60)).isNotEqualTo(Strikes.plan(8, 8, 60));
  }

  @ParameterizedTest
  @CsvSource({"1, 8", "2, 8", "3, 4", "4, 2"})
  void atEveryMomentOneEngineIsHealthy(long seed, int engines) {
    List<Strike> strikes = Strikes.plan(seed, engines, 600);
    for (int moment = 0; moment < 600_000; moment += 50) {
      assertThat(sound(strikes, engines, moment)).as("at %d ms", moment).isPositive();
    }
  }

  private static long sound(List<Strike> strikes, int engines, int moment) {
    return IntStream.range(0, engines)
        .filter(
            engine ->
                strikes.stream()
                    .filter(strike -> strike.engine() == engine)
                    .noneMatch(
                        strike ->
                            strike.atMillis() <= moment
                                && moment < strike.endMillis() + Strikes.RECOVERY_MILLIS))
        .count();
  }

  @Test
  void noEngineHasTwoFaultsAtOnce() {
    List<Strike> strikes = Strikes.plan(1, 8, 600);
    for (int i = 0; i < strikes.size(); i++) {
      Strike one = strikes.get(i);
      assertThat(strikes.subList(i + 1, strikes.size()))
          .filteredOn(other -> other.engine() == one.engine())
          .allSatisfy(
              other -> assertThat(other.atMillis()).isGreaterThanOrEqualTo(one.endMillis()));
    }
  }

  @Test
  void eightEnginesGetOneFaultPerSecondAndEveryKindOccurs() {
    List<Strike> strikes = Strikes.plan(1, 8, 600);

    assertThat(strikes).hasSize(600);
    assertThat(strikes.stream().map(Strike::fault).collect(Collectors.toSet()))
        .containsExactlyInAnyOrder(ChaosFault.values());
    assertThat(strikes.stream().map(Strike::engine).collect(Collectors.toSet())).hasSize(8);
  }
}
