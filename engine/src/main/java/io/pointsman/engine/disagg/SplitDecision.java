package io.pointsman.engine.disagg;

import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Role;

/** The answer to one request to a fleet of prefill and decode workers. */
public sealed interface SplitDecision {
  record Placed(Placement placement) implements SplitDecision {}

  /**
   * Nobody was chosen; nothing is held.
   *
   * @param missing the role for which no worker could be had
   */
  record Refused(Role missing, Decision.Rejected rejection) implements SplitDecision {}
}
