package io.pointsman.tool.replay.peer;

import io.pointsman.tool.replay.run.RunResult;
import io.pointsman.tool.replay.run.Simulation;
import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.List;

/** The capacity that corresponds to load 1.0. */
public final class Capacity {
  /** A rate factor far above any fleet's capacity. */
  private static final double FLOOD = 1e6;

  private Capacity() {}

  /**
   * Returns the requests per second that round robin completes. All requests wait from the
   * beginning, and every engine has its usual speed.
   *
   * @throws IllegalArgumentException if the engines have no room for any of them
   */
  public static double ofRoundRobin(Trace trace, SimulationSettings settings) {
    List<TraceRequest> all = trace.requests();
    Trace flood = new Trace(trace.name(), trace.blockTokens(), all).atRate(FLOOD);
    RunResult result =
        Simulation.run(flood, ReplayPolicies.of("round_robin"), settings.undisturbed());
    if (result.requests() == 0) {
      throw new IllegalArgumentException(
          "kv-tokens: " + settings.kvTokens() + " (expected: room for one of the requests)");
    }
    return result.requests() / result.seconds();
  }
}
