package io.pointsman.engine.disagg.plan;

import io.pointsman.engine.fleet.Worker;

/** Makes the decode request from what prefill has answered. Pure. */
@FunctionalInterface
public interface Handover {
  /**
   * @param decode the worker that is to go on; where {@link Terms#bond} allows it, another one than
   *     the plan was made for
   */
  Continuation to(Worker decode, PrefillReply reply);
}
