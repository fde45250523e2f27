package io.pointsman.engine;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.policy.RoutingRequest;

/**
 * Hears of what the engine decides. Called on the deciding or settling thread; must neither block
 * nor throw. What a listener does not care for it leaves out, but for the faults of policies.
 */
@FunctionalInterface
public interface EngineListener {
  /** {@code lease} was placed for {@code request}, for the reason in its notes. */
  default void routed(RoutingRequest request, Lease lease) {}

  default void rejected(RoutingRequest request, RejectReason reason) {}

  /**
   * Whether the decision on {@code request}, which is about to be placed, shall be explained in its
   * notes. Asked of every request, so it must cost next to nothing.
   */
  default boolean explains(RoutingRequest request) {
    return false;
  }

  default void settled(Lease lease, Outcome outcome) {}

  /** A policy threw; the request was placed by least load instead. */
  void policyFailed(RuntimeException failure);
}
