package io.pointsman.engine.policy.cost.report;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Candidate;
import io.pointsman.engine.policy.Candidate.Verdict;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.CostFleet;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.cost.Prompt;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class CostInsightTest {
  private final CostFleet on = new CostFleet(4, CostSettings.DEFAULTS);

  private static RoutingRequest asked(PrefixBlocks prompt) {
    return RoutingRequest.builder().model(TestFleet.MODEL).prefix(prompt).explained(true).build();
  }

  private static List<Candidate> candidates(RoutingRequest request) {
    return requireNonNull(request.explanation(), "explanation").candidates();
  }

  private static Candidate of(RoutingRequest request, Worker worker) {
    return candidates(request).stream()
        .filter(each -> each.worker() == worker)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void theChosenWorkerComesFirstWithItsPrediction() {
    RoutingRequest request = asked(Prompt.of(1, 100));
    Lease lease = on.place(request);

    List<Candidate> all = candidates(request);
    assertThat(all).hasSize(4);
    Candidate chosen = all.getFirst();
    assertThat(chosen.worker()).isSameAs(lease.worker());
    assertThat(chosen.verdict()).isEqualTo(Verdict.CHOSEN);
    assertThat(chosen.ttftMillis()).isEqualTo(request.result().predictedMillis());
    assertThat(chosen.uncachedTokens()).isEqualTo(1600);
    assertThat(chosen.cachedTokens()).isZero();
    assertThat(chosen.waitMillis()).isZero();
    // Without the placed request.
    assertThat(chosen.inFlight()).isZero();
    assertThat(all.subList(1, 4)).allMatch(each -> each.verdict() == Verdict.CHANCE);
  }

  /** A prompt that was placed again on the worker that has it cached. */
  private RoutingRequest placedOnItsHolder(PrefixBlocks prompt) {
    Worker holder = on.served(prompt, 0).worker();
    RoutingRequest request = asked(prompt);
    on.place(request);

    assertThat(of(request, holder).verdict()).isEqualTo(Verdict.CHOSEN);
    assertThat(others(request)).allMatch(each -> each.verdict() == Verdict.LESS_CACHED);
    return request;
  }

  private static List<Candidate> others(RoutingRequest request) {
    return candidates(request).subList(1, 4);
  }

  @Test
  void amongEqualsTheOneThatHoldsMostIsChosen() {
    RoutingRequest request = placedOnItsHolder(Prompt.of(1, 1));

    double tie = CostSettings.DEFAULTS.tieMillis();
    double chosen = candidates(request).getFirst().costMillis();
    assertThat(others(request)).allMatch(each -> each.costMillis() <= chosen + tie);
  }

  @Test
  void othersHoldLessOfThePrompt() {
    RoutingRequest request = placedOnItsHolder(Prompt.of(1, 500));

    assertThat(candidates(request).getFirst().cachedTokens()).isGreaterThan(7900);
    assertThat(others(request))
        .allMatch(each -> each.uncachedTokens() == 8000)
        .allMatch(each -> each.costMillis() > request.result().predictedMillis());
  }

  @Test
  void holderWithABacklogMakesWaitLonger() {
    Worker holder = on.served(Prompt.of(1, 32), 0).worker();
    long rest = Duration.ofMillis(10).toNanos();
    on.fleet.pool().workers().stream()
        .filter(worker -> worker != holder)
        .forEach(worker -> worker.rest(rest));
    on.place(Prompt.of(2, 4000));
    on.fleet.clock.advance(Duration.ofMillis(20));
    RoutingRequest request = asked(Prompt.of(1, 32, 9, 1));
    Lease lease = on.place(request);
    Candidate lost = of(request, holder);

    assertThat(lease.worker()).isNotSameAs(holder);
    assertThat(lost.verdict()).isEqualTo(Verdict.LONGER_WAIT);
    assertThat(lost.waitMillis()).isPositive();
  }

  @Test
  void moreLoadDecidesBetweenEquals() {
    on.fleet.load(on.fleet.worker(0), 1);
    RoutingRequest request = asked(Prompt.of(1, 10));
    on.place(request);

    assertThat(of(request, on.fleet.worker(0)).verdict()).isEqualTo(Verdict.MORE_LOAD);
  }

  @Test
  void excludedWorkersAreMarked() {
    on.fleet.kill(on.fleet.worker(0));
    RoutingRequest request = asked(Prompt.of(1, 10));
    request.exclude(on.fleet.worker(1));
    on.place(request);

    Candidate out = of(request, on.fleet.worker(0));
    assertThat(out.verdict()).isEqualTo(Verdict.OUT);
    assertThat(out.ttftMillis()).isNaN();
    assertThat(of(request, on.fleet.worker(1)).verdict()).isEqualTo(Verdict.TRIED);
  }

  @Test
  void largeFleetShowsItsBest() {
    CostFleet large = new CostFleet(300, CostSettings.DEFAULTS);
    Worker holder = large.served(Prompt.of(1, 500), 0).worker();
    RoutingRequest request = asked(Prompt.of(1, 500));
    large.place(request);

    assertThat(candidates(request)).hasSize(Insight.MOST_CANDIDATES);
    assertThat(candidates(request).getFirst().worker()).isSameAs(holder);
  }

  @Test
  void withoutAReaderNothingIsExplained() {
    RoutingRequest request = CostFleet.request(Prompt.of(1, 10));
    on.place(request);

    assertThat(request.explanation()).isNull();
  }

  @Test
  void listenerMayWantDecisionsExplained() {
    on.explains = true;
    RoutingRequest request = CostFleet.request(Prompt.of(1, 10));
    on.place(request);

    assertThat(candidates(request)).hasSize(4);
  }
}
