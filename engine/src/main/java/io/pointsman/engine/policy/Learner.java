package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;

/**
 * State that learns from what is placed, on whatever plane, and that policies read: a prefix index,
 * a session table. It outlives changes of the fleet. Called by many threads at once, on the thread
 * that places or settles; must not block.
 */
public interface Learner {
  /** {@code lease} was placed for {@code request}. */
  void placed(RoutingRequest request, Lease lease);

  /** A lease that was placed for {@code request} has ended. */
  void ended(RoutingRequest request, Lease lease, Outcome outcome);

  /** {@code worker} has left the fleet; what was known of it counts no more. */
  void forget(Worker worker);
}
