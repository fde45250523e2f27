package io.pointsman.pd.protocol;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;

/** A protocol for the transfer of KV blocks. Called by many threads at once; does no I/O. */
@FunctionalInterface
public interface PdProtocol {
  /** Plans the requests to the two workers. */
  PdPlan plan(PdRequest request, Worker prefill, Worker decode);
}
