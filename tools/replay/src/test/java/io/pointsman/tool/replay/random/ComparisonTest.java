package io.pointsman.tool.replay.random;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.tool.replay.random.draw.Draw;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ComparisonTest {
  private static Measure measure(double mean, double p99, double endToEnd) {
    return new Measure(mean, p99, endToEnd, 0.5, 100, 0);
  }

  private static PolicyComparison comparison(long seed, Map<String, Measure> measures) {
    return new PolicyComparison(Draw.of(seed), 1, measures);
  }

  private static PolicyComparison comparison(long seed, double subject, double other) {
    Map<String, Measure> measures = new LinkedHashMap<>();
    measures.put("cost", measure(subject, subject, subject));
    measures.put("round_robin", measure(other, other, other));
    return comparison(seed, measures);
  }

  @Test
  void timesWithinTwoMillisecondsAreEqual() {
    assertThat(PolicyComparison.ratio(3.9, 2)).isEqualTo(1);
    assertThat(PolicyComparison.ratio(2, 3.9)).isEqualTo(1);
    assertThat(PolicyComparison.ratio(4, 2)).isEqualTo(2);
    assertThat(PolicyComparison.ratio(100, 200)).isEqualTo(0.5);
    assertThat(PolicyComparison.ratio(100, 0)).isFinite().isGreaterThan(1);
  }

  @Test
  void bestIsTheLeastOfOtherRoutersForEachMetric() {
    Map<String, Measure> measures = new LinkedHashMap<>();
    measures.put("cost", measure(100, 400, 1000));
    measures.put("round_robin", measure(200, 500, 2000));
    measures.put("llm_d", measure(80, 800, 3000));
    measures.put("greedy", measure(10, 10, 10));
    PolicyComparison row = comparison(1, measures);

    assertThat(row.best(ComparedTime.MEAN)).isEqualTo(new PolicyComparison.Best("llm_d", 80));
    assertThat(row.best(ComparedTime.P99)).isEqualTo(new PolicyComparison.Best("round_robin", 500));
    assertThat(row.ratio(ComparedTime.MEAN)).isEqualTo(1.25);
    assertThat(row.ratio(ComparedTime.P99)).isEqualTo(0.8);
    assertThat(row.ratio(ComparedTime.END_TO_END)).isEqualTo(0.5);
    assertThat(row.ratio("greedy", ComparedTime.MEAN)).isEqualTo(0.125);
    assertThat(row.ratioToRoundRobin()).isEqualTo(0.5);
  }

  @Test
  void subjectAloneHasNoRatio() {
    PolicyComparison row = comparison(1, Map.of("cost", measure(1, 1, 1)));

    assertThat(row.ratio(ComparedTime.MEAN)).isNaN();
    assertThat(row.ratioToRoundRobin()).isNaN();
    assertThat(ComparisonTable.row(row)).contains(" - ");
    assertThat(ComparisonTable.summary(List.of(row))).contains("1 workloads");
  }

  @Test
  void statisticsCountWorkloadsAboveEachMarkAndNameTheWorst() {
    List<PolicyComparison> rows =
        List.of(
            comparison(1, 100, 100),
            comparison(2, 107, 100),
            comparison(3, 115, 100),
            comparison(4, 400, 100));
    Statistics statistics = Statistics.of(rows, row -> row.ratio(ComparedTime.MEAN));

    assertThat(statistics.count()).isEqualTo(4);
    assertThat(statistics.mean()).isCloseTo(Math.pow(1.07 * 1.15 * 4, 0.25), within(1e-9));
    assertThat(statistics.p95()).isEqualTo(4);
    assertThat(statistics.worst()).isEqualTo(4);
    assertThat(statistics.worstSeed()).isEqualTo(4);
    assertThat(statistics.above()).containsExactly(3, 2, 1);
  }

  @Test
  void partIsComparedWithTheWholePolicyAndNotWithOtherParts() {
    Map<String, Measure> turns = new LinkedHashMap<>();
    turns.put("cost", measure(100, 100, 100));
    turns.put("cost-ties", measure(121, 144, 100));
    turns.put("cost-guard", measure(10, 10, 10));
    Map<String, Measure> others = new LinkedHashMap<>();
    others.put("cost", measure(100, 100, 100));
    others.put("cost-ties", measure(100, 101, 400));
    others.put("cost-guard", measure(10, 10, 10));
    assertThat(Draw.of(1).family()).isNotEqualTo(Draw.of(2).family());

    String table = AblationTable.text(List.of(comparison(1, turns), comparison(2, others)));

    String family = Draw.of(1).family().label();
    assertThat(table.lines())
        .anySatisfy(
            line ->
                assertThat(line.split(" {2,}| "))
                    .startsWith("cost-ties", "1.100", "1.200", "2.000", "1.210", family))
        .anySatisfy(line -> assertThat(line).matches("cost-guard +0.100 +0.100 +0.100 .*"));
  }

  @Test
  void summaryIsByFamilyEngineAndDisturbance() {
    String summary =
        ComparisonTable.summary(List.of(comparison(1, 100, 50), comparison(2, 100, 50)));

    assertThat(summary)
        .contains("2 workloads", "mean TTFT by family", "by engine", "by disturbance")
        .contains(Draw.of(1).family().label(), Draw.of(1).engine().name(), "2.000");
  }
}
