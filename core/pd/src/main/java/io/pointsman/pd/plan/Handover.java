package io.pointsman.pd.plan;

import io.pointsman.engine.fleet.Worker;

/** Builds the decode request from the prefill response. Has no side effects. */
@FunctionalInterface
public interface Handover {
  /**
   * @param decode the worker that continues; may differ from the planned one if {@link Terms#bond}
   *     permits it
   */
  Continuation to(Worker decode, PrefillReply reply);
}
