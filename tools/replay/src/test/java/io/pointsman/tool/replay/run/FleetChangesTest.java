package io.pointsman.tool.replay.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.tool.replay.peer.ReplayPolicies;
import io.pointsman.tool.replay.run.SimulationSettings.Change;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The policy's reaction to engines that join, fail and return, near the fleet's capacity. */
class FleetChangesTest {
  private static final int ENGINES = 4;
  private static final int BLOCK = 512;

  /** Requests per second: 0.95 of the capacity of these engines. */
  private static final double NEARLY_FULL = 40;

  /** Poisson arrivals for 240 s, with prompts of 2,000 to 6,000 tokens without common prefixes. */
  private static final Trace TRACE = trace();

  private static Trace trace() {
    SplittableRandom random = new SplittableRandom(1);
    List<TraceRequest> requests = new ArrayList<>();
    double at = 0;
    while (at < 240_000) {
      at -= Math.log(1 - random.nextDouble()) * 1000 / NEARLY_FULL;
      int tokens = random.nextInt(2000, 6001);
      long[] blocks = random.longs(Math.ceilDiv(tokens, BLOCK)).toArray();
      requests.add(new TraceRequest(at, -1, tokens, 2, blocks));
    }
    return new Trace("alone", BLOCK, requests);
  }

  private static TimeLine run(Change... changes) {
    SimulationSettings settings =
        new SimulationSettings(
            ENGINES, 400_000, Map.of(), List.of(changes), 1, PolicySettings.DEFAULTS);
    return Simulation.run(TRACE, ReplayPolicies.of("cost"), settings).timeLine(30);
  }

  private static double ttft(TimeLine line, int fromWindow, int toWindow) {
    double sum = 0;
    for (int window = fromWindow; window < toWindow; window++) {
      sum += line.ttftMean(window);
    }
    return sum / (toWindow - fromWindow);
  }

  @Test
  void joiningWorkerRelievesOthersAtOnceAndTakesItsShareWithinAMinute() {
    TimeLine alone = run();
    TimeLine joined = run(new Change(120, ENGINES));

    assertThat(joined.engines().get(ENGINES).joined()).isEqualTo(120);
    assertThat(joined.share(ENGINES, 3)).isNaN();
    assertThat(joined.share(ENGINES, 4)).isBetween(0.7, 1.3);
    assertThat(joined.share(ENGINES, 5)).isBetween(0.7, 1.3);
    assertThat(ttft(joined, 0, 4)).isEqualTo(ttft(alone, 0, 4));
    assertThat(joined.ttftMean(4)).isLessThan(0.7 * alone.ttftMean(4));
    assertThat(ttft(joined, 4, 8)).isLessThan(0.7 * ttft(alone, 4, 8));
  }

  @Test
  void returningWorkerTakesItsShareAgain() {
    TimeLine line = run(new Change(20, ENGINES), new Change(90, 2), new Change(150, 2));

    assertThat(line.engines().get(2).left()).isEqualTo(90);
    assertThat(line.engines().get(ENGINES + 1))
        .isEqualTo(new Presence(2, 150, Double.POSITIVE_INFINITY));
    assertThat(line.share(2, 3)).isNaN();
    assertThat(line.share(ENGINES + 1, 4)).isNaN();
    assertThat(line.share(ENGINES + 1, 5)).isBetween(0.7, 1.3);
    assertThat(line.share(ENGINES + 1, 6)).isBetween(0.7, 1.3);
    // While it was absent, the others divided its work.
    for (int engine : new int[] {0, 1, 3, ENGINES}) {
      assertThat(line.share(engine, 3)).isBetween(0.7, 1.3);
    }
    assertThat(line.ttftMean(6)).isLessThan(line.ttftMean(4));
  }
}
