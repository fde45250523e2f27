package io.pointsman.engine.disagg.protocol;

import io.pointsman.engine.disagg.plan.PdPlan;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.fleet.Worker;

/** A protocol for the transfer of KV blocks. Called by many threads at once; does no I/O. */
@FunctionalInterface
public interface PdProtocol {
  /** Plans the requests to the two workers. */
  PdPlan plan(PdRequest request, Worker prefill, Worker decode);
}
