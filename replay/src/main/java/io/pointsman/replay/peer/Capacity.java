package io.pointsman.replay.peer;

import io.pointsman.replay.run.RunResult;
import io.pointsman.replay.run.Simulation;
import io.pointsman.replay.run.SimulationSettings;
import io.pointsman.replay.trace.Trace;
import io.pointsman.replay.trace.TraceRequest;
import java.util.List;

/** What load 1.0 means. */
public final class Capacity {
  /** So many times more than any fleet serves. */
  private static final double FLOOD = 1e6;

  private Capacity() {}

  /**
   * Requests a second that round robin completes when they all wait from the beginning on and every
   * engine has its usual speed.
   *
   * @throws IllegalArgumentException if engines have room for none of them
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
