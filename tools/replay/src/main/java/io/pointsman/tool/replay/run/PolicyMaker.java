package io.pointsman.tool.replay.run;

import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;

/** Creates a policy for one run: a production policy or a comparator. */
@FunctionalInterface
public interface PolicyMaker {
  /**
   * @param parts clock, random source and settings of the run
   * @param view the simulated engines, for comparators that use their state
   */
  PolicySetup make(PolicyParts parts, FleetView view);
}
