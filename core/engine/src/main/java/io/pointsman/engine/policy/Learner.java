package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;

/**
 * State that learns from placements and that policies read, for example a prefix index or a session
 * table. It also learns from placements for external proxies, and it survives changes of the fleet.
 * Called by many threads at once, on the placing or settling thread; must not block.
 */
public interface Learner {
  /** {@code lease} was placed for {@code request}. */
  void placed(RoutingRequest request, LeaseView lease);

  /** A lease placed for {@code request} has ended. */
  void ended(RoutingRequest request, LeaseView lease, Outcome outcome);

  /** {@code worker} has left the fleet; its state must be discarded. */
  void forget(Worker worker);
}
