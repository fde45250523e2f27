package io.pointsman.replay.run;

import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;

/** Makes a policy for one run: of the production's catalogue, or a comparator. */
@FunctionalInterface
public interface PolicyMaker {
  /**
   * @param parts clock, dice and knobs of the run
   * @param view the simulated engines, for those that are to see them
   */
  PolicySetup make(PolicyParts parts, FleetView view);
}
