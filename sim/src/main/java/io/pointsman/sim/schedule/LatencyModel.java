package io.pointsman.sim.schedule;

/** How long one step of the engine takes. Implementations are pure functions. */
@FunctionalInterface
public interface LatencyModel {
  /**
   * Duration of a step.
   *
   * @param step what the step computes
   * @return nanoseconds of engine time, 0 or more
   */
  long stepNanos(Step step);

  /**
   * The work of one step.
   *
   * @param prefillTokens prompt tokens computed
   * @param decoding sequences that get one token
   * @param contextTokens tokens those sequences attend to, shared ones counted once per sequence
   * @param capacityTokens KV capacity of the engine
   */
  record Step(int prefillTokens, int decoding, long contextTokens, long capacityTokens) {}
}
