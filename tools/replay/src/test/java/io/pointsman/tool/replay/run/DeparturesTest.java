package io.pointsman.tool.replay.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.tool.replay.peer.ReplayPolicies;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Clients that leave before the end of their response. */
class DeparturesTest {
  private static final double STAYS = Double.POSITIVE_INFINITY;

  private static SimulationSettings settings(int workers) {
    return new SimulationSettings(
        workers, 100_000, Map.of(), List.of(), 1, PolicySettings.DEFAULTS);
  }

  private static TraceRequest request(double at, int output, double patience, long block) {
    return new TraceRequest(at, -1, 640, output, new long[] {block}, patience);
  }

  @Test
  void clientsThatLeaveFreeTheirLeases() {
    List<TraceRequest> requests = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      requests.add(request(i * 5, 500, i % 2 == 0 ? 20 + i * 10 : STAYS, i));
    }
    Set<Worker> workers = new LinkedHashSet<>();
    Policy first =
        pool ->
            (_, _) -> {
              for (int i = 0; i < pool.size(); i++) {
                workers.add(pool.worker(i));
              }
              return pool.worker(0);
            };
    RunResult result =
        Simulation.run(
            new Trace("leaving", 64, requests),
            (_, _) -> new PolicySetup(first, List.of()),
            settings(2));

    assertThat(result.left()).isBetween(1, 100);
    assertThat(result.requests()).isEqualTo(200);
    assertThat(result.rejected()).isZero();
    assertThat(workers).isNotEmpty().allSatisfy(w -> assertThat(w.inFlight()).isZero());
  }

  @Test
  void clientThatLeavesCountsWithTheTimeUntilThen() {
    Trace trace = new Trace("one", 64, List.of(request(0, 2000, 1000, 1)));
    RunResult result = Simulation.run(trace, ReplayPolicies.of("cost"), settings(1));

    assertThat(result.left()).isEqualTo(1);
    assertThat(result.endToEndMean()).isEqualTo(1000);
    assertThat(result.ttftMean()).isLessThan(1000);
  }

  @Test
  void clientThatLeavesWhileItsRequestIsDeferredIsForgotten() {
    List<TraceRequest> requests = new ArrayList<>();
    for (int i = 0; i < 900; i++) {
      double patience = i % 3 == 0 ? 150 : STAYS;
      requests.add(
          new TraceRequest(3000.0 * Math.floorDiv(i, 30), -1, 8192, 20, new long[] {i}, patience));
    }
    Trace trace = new Trace("deferred", 64, requests);
    RunResult result = Simulation.run(trace, ReplayPolicies.of("cost"), settings(2));

    assertThat(result.deferred()).isPositive();
    assertThat(result.left()).isGreaterThan(200);
    assertThat(result.requests()).isEqualTo(900);
    assertThat(result.requestsByWorker().stream().mapToInt(n -> n).sum())
        .as("requests that were sent")
        .isLessThan(900);
  }

  @Test
  void nothingFollowsADepartedClient() {
    TraceRequest first = request(0, 2000, 100, 1);
    TraceRequest next = new TraceRequest(10, 0, 640, 1, new long[] {1});
    RunResult result =
        Simulation.run(
            new Trace("two", 64, List.of(first, next)), ReplayPolicies.of("cost"), settings(1));

    assertThat(result.requests()).isEqualTo(1);
    assertThat(result.rejected()).isEqualTo(1);
  }

  @Test
  void responseWithoutTokensCountsAtItsEnd() {
    Trace trace = new Trace("embedding", 64, List.of(request(0, 0, STAYS, 1)));
    RunResult result = Simulation.run(trace, ReplayPolicies.of("cost"), settings(1));

    assertThat(result.requests()).isEqualTo(1);
    assertThat(result.ttftMean()).isPositive().isEqualTo(result.endToEndMean());
  }
}
