package io.pointsman.tool.bench.proxies;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.Contenders;
import io.pointsman.tool.bench.proxies.PerformanceTarget.Verdict;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Verdicts on targets. */
final class TargetTest {
  private static final String STALLS = "10,000 streams x 10 chunks/s, stall p99";

  private final Results results = new Results();

  private void measured(
      String workload, String contender, MeasuredMetric metric, double... values) {
    for (double value : values) {
      results.add(new Measurement(workload, contender, 1, Map.of(metric, value), ""));
    }
  }

  private void streamed(String contender, double came, String error) {
    Map<MeasuredMetric, Double> values =
        Map.of(
            MeasuredMetric.STALL_P99, 100.0,
            MeasuredMetric.CAME, came,
            MeasuredMetric.SENT, 97.0,
            MeasuredMetric.SENT_LATE_P99, 12.0,
            MeasuredMetric.SENT_LATE_MAX, 345.0);
    results.add(new Measurement("sse-10000", contender, 1, values, error));
  }

  private static PerformanceTarget target(String row) {
    return PerformanceTarget.all().stream()
        .filter(t -> t.row().equals(row))
        .findFirst()
        .orElseThrow();
  }

  private Verdict verdict(String row) {
    return target(row).judge(results).verdict();
  }

  @Test
  void everyTargetNamesWorkloadsAndContendersThatExist() {
    List<String> workloads = Workload.all().stream().map(Workload::name).toList();
    List<String> contenders =
        new Contenders(Path.of("..", "..")).all().stream().map(Contender::name).toList();

    assertThat(PerformanceTarget.all()).hasSizeGreaterThan(30);
    assertThat(PerformanceTarget.all())
        .allSatisfy(
            target -> {
              assertThat(workloads).contains(target.workload());
              assertThat(contenders).contains(target.contender());
              String reference = target.reference();
              if (reference.startsWith("@")) {
                assertThat(workloads).contains(reference.substring(1));
              } else if (!reference.isEmpty()) {
                assertThat(contenders).contains(reference);
              }
            });
  }

  @Test
  void aRatioOfMediansDecides() {
    measured("unary-2k", "haproxy", MeasuredMetric.CAPACITY, 90, 100, 1_000);
    measured("unary-2k", "pointsman", MeasuredMetric.CAPACITY, 111);
    assertThat(verdict("2 KB POST, one core")).isEqualTo(Verdict.REACHED);

    measured("unary-2k", "pointsman", MeasuredMetric.CAPACITY, 1, 109);
    assertThat(verdict("2 KB POST, one core")).isEqualTo(Verdict.MISSED);
  }

  @Test
  void anUpperLimitIsReachedBelowIt() {
    measured("memory-0", "pointsman", MeasuredMetric.RESIDENT, 119);
    assertThat(verdict("idle memory, MB")).isEqualTo(Verdict.REACHED);

    measured("memory-0", "pointsman", MeasuredMetric.RESIDENT, 130, 130);
    assertThat(verdict("idle memory, MB")).isEqualTo(Verdict.MISSED);
  }

  @Test
  void aWorkloadCanBeComparedWithAnother() {
    measured("workers-4", "pointsman", MeasuredMetric.CAPACITY, 100);
    measured("workers-4000", "pointsman", MeasuredMetric.CAPACITY, 89);

    assertThat(verdict("4,000 workers")).isEqualTo(Verdict.MISSED);
  }

  @Test
  void addedLatencyIsTheDifferenceToDirect() {
    measured("rate-1000", "direct", MeasuredMetric.P99, 1);
    measured("rate-1000", "vllm-router-render", MeasuredMetric.P99, 5);
    measured("rate-1000", "pointsman", MeasuredMetric.P99, 2.9);

    assertThat(verdict("vllm-router cache_aware with render, added p99 at 1,000/s"))
        .isEqualTo(Verdict.REACHED);
  }

  @Test
  void differencesBelowZeroAreNotCompared() {
    measured("rate-1000", "direct", MeasuredMetric.P99, 3);
    measured("rate-1000", "vllm-router-render", MeasuredMetric.P99, 2.9);
    measured("rate-1000", "pointsman", MeasuredMetric.P99, 8);

    assertThat(verdict("vllm-router cache_aware with render, added p99 at 1,000/s"))
        .isEqualTo(Verdict.NOT_MEASURED);
  }

  @Test
  void aReducedWorkloadShowsItsConnections() {
    measured("sse-10000", "pointsman", MeasuredMetric.RESIDENT, 200);
    Workload whole = Workload.named("sse-10000");

    assertThat(outcomes(whole.withConnections(9_800))).contains("with 9,800 of 10,000 streams");
    assertThat(outcomes(whole)).contains("MB of pointsman: 200").doesNotContain("streams,");
  }

  private String outcomes(Workload workload) {
    return new ProxyReport(List.of(), List.of(workload), List.of(), results).targets();
  }

  @Test
  void aRunWithTooFewEventsIsAMissHoweverSmallItsStalls() {
    streamed("pointsman", 95.1, "");
    assertThat(verdict(STALLS)).isEqualTo(Verdict.REACHED);
    streamed("direct", 99, "");
    streamed("pointsman", 71.2, "");

    assertThat(verdict(STALLS)).isEqualTo(Verdict.MISSED);
    assertThat(outcomes(Workload.named("sse-10000")))
        .contains("1 of 2 runs do not count: 71.2 % of the events due came")
        .contains("the backend sent 97.0 %, of these 99 % within 12 ms", "all within 345)");
  }

  @Test
  void aLoadThatDirectCannotReachIsBeyondTheRigAndFailsTheCheck() {
    streamed("direct", 82.5, "");
    streamed("pointsman", 71.2, "");

    assertThat(verdict(STALLS)).isEqualTo(Verdict.BEYOND_RIG);
    assertThat(Verdict.BEYOND_RIG.fails()).isTrue();
    assertThat(outcomes(Workload.named("sse-10000")))
        .contains("beyond rig        10,000 streams", "71.2 %", "direct itself: 82.5 %");
  }

  @Test
  void errorsAreNotExcusedByTheRig() {
    streamed("direct", 82.5, "");
    streamed("pointsman", 71.2, "3 closed");

    assertThat(verdict(STALLS)).isEqualTo(Verdict.MISSED);
  }

  @Test
  void aValidRunCountsEvenIfDirectWasBehind() {
    streamed("direct", 82.5, "");
    streamed("pointsman", 99, "");

    assertThat(verdict(STALLS)).isEqualTo(Verdict.REACHED);
  }

  @Test
  void theTableShowsInvalidValuesInParenthesesAndNamesTheRig() {
    streamed("direct", 82.5, "");
    streamed("haproxy", 71.2, "");
    streamed("pointsman", 99, "");
    List<Contender> contenders = new Contenders(Path.of("..", "..")).all();

    String table = ResultTable.of(Workload.named("sse-10000"), contenders, results).text();

    assertThat(table)
        .containsPattern("haproxy +\\(71.2\\)")
        .containsPattern("pointsman +99.0 ")
        .contains("direct: 1 of 1 runs do not count: 82.5 %", "the rig itself cannot do this here")
        .contains("haproxy: 1 of 1 runs do not count: 71.2 %");
    assertThat(table.lines().filter(line -> line.contains("the rig itself"))).hasSize(1);
  }

  @Test
  void aFailedReferenceIsNamedAndFailsTheCheck() {
    measured("unary-2k", "pointsman", MeasuredMetric.CAPACITY, 111);
    assertThat(verdict("2 KB POST, one core")).isEqualTo(Verdict.NOT_MEASURED);
    results.add(new Measurement("unary-2k", "haproxy", 1, Map.of(), "3 closed"));

    assertThat(verdict("2 KB POST, one core")).isEqualTo(Verdict.REFERENCE_INVALID);
    assertThat(Verdict.REFERENCE_INVALID.fails()).isTrue();
    assertThat(outcomes(Workload.named("unary-2k")))
        .contains("reference invalid 2 KB POST, one core; ")
        .contains("the reference's own run failed: haproxy: 3 closed")
        .doesNotContain("Envoy, 2 KB");
    assertThat(verdict("Envoy, 2 KB")).isEqualTo(Verdict.NOT_MEASURED);
  }

  @Test
  void aReferenceWithSomeFailedRunsCountsWithItsOtherRuns() {
    measured("unary-2k", "pointsman", MeasuredMetric.CAPACITY, 111);
    measured("unary-2k", "haproxy", MeasuredMetric.CAPACITY, 100);
    results.add(new Measurement("unary-2k", "haproxy", 2, Map.of(), "3 closed"));

    assertThat(outcomes(Workload.named("unary-2k")))
        .contains("1.110 x haproxy (runs that count: 1 of 2) (target");
  }

  @Test
  void addedLatencyWithoutAValidRunOfDirectHasNoReference() {
    measured("rate-1000", "vllm-router-render", MeasuredMetric.P99, 5);
    measured("rate-1000", "pointsman", MeasuredMetric.P99, 2.9);
    String row = "vllm-router cache_aware with render, added p99 at 1,000/s";
    assertThat(verdict(row)).isEqualTo(Verdict.NOT_MEASURED);
    results.add(new Measurement("rate-1000", "direct", 1, Map.of(), "1 timeout"));

    assertThat(verdict(row)).isEqualTo(Verdict.REFERENCE_INVALID);
  }

  @Test
  void addedLatencyOfAContenderThatDidNotRunIsNotMeasured() {
    measured("rate-1000", "direct", MeasuredMetric.P99, 1);
    String row = "vllm-router cache_aware with render, added p99 at 1,000/s";

    assertThat(verdict(row)).isEqualTo(Verdict.NOT_MEASURED);
  }

  @Test
  void aFailedReferenceWorkloadOfTheRouterItselfInvalidatesTheReference() {
    measured("workers-4000", "pointsman", MeasuredMetric.CAPACITY, 89);
    results.add(new Measurement("workers-4", "pointsman", 1, Map.of(), "2 status"));

    assertThat(verdict("4,000 workers")).isEqualTo(Verdict.REFERENCE_INVALID);
  }

  @Test
  void aFailureOfRouterAndReferenceIsAMiss() {
    results.add(new Measurement("unary-2k", "haproxy", 1, Map.of(), "3 closed"));
    results.add(new Measurement("unary-2k", "pointsman", 1, Map.of(), "1 timeout"));

    assertThat(verdict("2 KB POST, one core")).isEqualTo(Verdict.MISSED);
  }

  @Test
  void oneFailedRunAmongValidOnesIsAMiss() {
    measured("memory-0", "pointsman", MeasuredMetric.RESIDENT, 100, 100);
    assertThat(verdict("idle memory, MB")).isEqualTo(Verdict.REACHED);
    results.add(new Measurement("memory-0", "pointsman", 3, Map.of(), "1 timeout"));

    assertThat(verdict("idle memory, MB")).isEqualTo(Verdict.MISSED);
  }

  @Test
  void aTargetWithOnlyFailedRunsIsAMiss() {
    results.add(
        new Measurement(
            "memory-0", "pointsman", 1, Map.of(MeasuredMetric.RESIDENT, 1.0), "3 closed"));

    assertThat(verdict("idle memory, MB")).isEqualTo(Verdict.MISSED);
    assertThat(verdict("4,000 workers")).isEqualTo(Verdict.NOT_MEASURED);
  }
}
