package io.pointsman.tool.sim.schedule;

/** The time of one engine step. Implementations are pure functions. */
@FunctionalInterface
public interface SimLatencyModel {
  /**
   * Returns the duration of a step.
   *
   * @param step the work of the step
   * @return nanoseconds of engine time, 0 or more
   */
  long stepNanos(Step step);

  /**
   * The work of one step.
   *
   * @param prefillTokens prompt tokens computed
   * @param decoding sequences that gain one token
   * @param contextTokens tokens those sequences attend to, common ones counted once per sequence
   * @param capacityTokens KV capacity of the engine
   */
  record Step(int prefillTokens, int decoding, long contextTokens, long capacityTokens) {}
}
