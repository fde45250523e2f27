package io.pointsman.tool.replay.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.tool.replay.run.RunResult;
import io.pointsman.tool.replay.run.Simulation;
import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GreedyTest {
  private static final int TOKENS_PER_HASH = 1000;

  private final List<Double> costs = new ArrayList<>();

  private RunResult run(TraceRequest... requests) {
    SimulationSettings settings =
        new SimulationSettings(1, 400_000, Map.of(), List.of(), 1, PolicySettings.DEFAULTS);
    return Simulation.run(
        new Trace("few", TOKENS_PER_HASH, List.of(requests)),
        (parts, view) -> {
          Greedy greedy = new Greedy(parts.ticker(), -1);
          Scorer scorer =
              (engine, exchange) -> {
                costs.add(greedy.cost(engine, exchange));
                return costs.getLast();
              };
          return new PolicySetup(new ScoredPolicy(view, scorer, parts.random(), false), List.of());
        },
        settings);
  }

  private static TraceRequest request(double atMillis, int tokens, long firstHash) {
    long[] hashes = new long[Math.ceilDiv(tokens, TOKENS_PER_HASH)];
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] = firstHash + i;
    }
    return new TraceRequest(atMillis, -1, tokens, 1, hashes);
  }

  /** Checks only the last request, because a later one may join the same step and delay it. */
  private void assertCostIsMeasuredTime(double measured) {
    assertThat(costs.getLast()).isCloseTo(measured, within(0.01));
  }

  @Test
  void boundKnowsTheWaitBehindALongPromptInPrefill() {
    RunResult result = run(request(0, 20_000, 1), request(100, 1000, 100));

    assertCostIsMeasuredTime(result.ttft(0.5));
  }

  @Test
  void boundKnowsTheWaitBehindAWaitingPrompt() {
    RunResult result = run(request(0, 9000, 1), request(20, 8000, 100), request(40, 9000, 200));

    assertCostIsMeasuredTime(result.ttft(1));
  }

  @Test
  void boundKnowsBlocksThatAreBeingComputed() {
    RunResult result = run(request(0, 20_000, 1), request(100, 19_500, 1));

    assertThat(result.hit()).isGreaterThan(0.4);
    assertCostIsMeasuredTime(result.ttft(0.5));
  }
}
