package io.pointsman.pd.rule;

import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Role;

/** The decision on one request in a fleet with prefill and decode workers. */
public sealed interface SplitDecision {
  record Placed(Placement placement) implements SplitDecision {}

  /**
   * No worker was chosen. No lease is held.
   *
   * @param missing the role without an available worker
   */
  record Refused(Role missing, Decision.Rejected rejection) implements SplitDecision {}
}
