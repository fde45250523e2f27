package io.pointsman.engine;

import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.policy.RoutingRequest;

/**
 * Receives the engine's decisions. The engine calls it on the deciding or settling thread, so an
 * implementation must not block or throw. All methods except {@link #policyFailed} are optional.
 */
@FunctionalInterface
public interface EngineListener {
  /**
   * The engine placed {@code lease} for {@code request}. The result in the request contains the
   * reason.
   */
  default void routed(RoutingRequest request, LeaseView lease) {}

  default void rejected(RoutingRequest request, RejectReason reason) {}

  /**
   * Returns true if the decision for {@code request} must be explained. The engine calls this for
   * every request just before placement, so it must be cheap.
   */
  default boolean explains(RoutingRequest request) {
    return false;
  }

  default void settled(LeaseView lease, Outcome outcome) {}

  /** A policy threw. The engine placed the request on the least loaded worker instead. */
  void policyFailed(RuntimeException failure);
}
