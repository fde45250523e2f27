package io.pointsman.engine.disagg.protocol;

import io.pointsman.engine.disagg.plan.PdPlan;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.fleet.Worker;

/** A way of handing KV blocks over. Called by many threads at once; does no I/O. */
@FunctionalInterface
public interface PdProtocol {
  /** What to ask of the two workers. */
  PdPlan plan(PdRequest request, Worker prefill, Worker decode);
}
