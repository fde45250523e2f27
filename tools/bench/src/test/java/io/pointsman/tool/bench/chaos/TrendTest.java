package io.pointsman.tool.bench.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TrendTest {
  private static final Trend RESIDENT = new Trend(Sample.RESIDENT, 1.05, 8);

  private static List<Sample> resident(int count, IntToDoubleFunction megabytes) {
    return IntStream.range(0, count)
        .mapToObj(i -> new Sample(i, megabytes.applyAsDouble(i), 0, 0, 0, 0, 0, 0, 0, 0))
        .toList();
  }

  @Test
  void steadyGrowthIsATrend() {
    assertThat(RESIDENT.over(resident(180, i -> 100 + i * 0.3)).grows()).isTrue();
  }

  @Test
  void warmingUpIsNoTrend() {
    assertThat(RESIDENT.over(resident(180, i -> i < 45 ? 50 + i : 100)).grows()).isFalse();
  }

  @Test
  void onePeakIsNoTrend() {
    assertThat(RESIDENT.over(resident(180, i -> i == 170 ? 900 : 100)).grows()).isFalse();
  }

  private static boolean p99Grows(int count, IntToDoubleFunction millis) {
    List<Sample> samples =
        IntStream.range(0, count)
            .mapToObj(i -> new Sample(i, 0, 0, 0, 0, 0, 0, 300, millis.applyAsDouble(i), 0))
            .toList();
    return Trend.BOUNDS.stream()
        .filter(trend -> trend.column().equals(Sample.P99))
        .map(trend -> trend.over(samples))
        .findFirst()
        .orElseThrow()
        .grows();
  }

  @Test
  void aGrowingP99IsATrendThoughTheMedianStays() {
    assertThat(p99Grows(180, i -> 3_000 + i * 80)).isTrue();
  }

  @Test
  void aP99ThatRisesByTwoSecondsIsNoTrend() {
    assertThat(p99Grows(180, i -> i < 90 ? 1_700 : 3_700)).isFalse();
  }

  @Test
  void mediansOfTheQuartersAreCompared() {
    Trend.Finding finding = RESIDENT.over(resident(8, i -> i));

    assertThat(finding.second()).isEqualTo(2.5);
    assertThat(finding.last()).isEqualTo(6.5);
  }

  @Test
  void aTooShortRunIsRejected() {
    assertThatThrownBy(() -> RESIDENT.over(resident(3, i -> i)))
        .hasMessage("samples: 3 (expected: at least 4; a longer run)");
  }
}
