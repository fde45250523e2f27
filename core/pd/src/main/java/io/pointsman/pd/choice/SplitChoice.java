package io.pointsman.pd.choice;

import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.rule.SplitRule;
import org.jspecify.annotations.Nullable;

/**
 * The answer to an external proxy that asks where to send a request in a fleet with prefill and
 * decode workers.
 */
public sealed interface SplitChoice {
  /**
   * Two workers serve the request.
   *
   * @param plan the requests to both workers and their order: {@link PdPlan.Sequential} or {@link
   *     PdPlan.Concurrent}, without an engine notification to await
   * @param lease id of the leases on both workers; null if none are held
   * @param expiresInNanos nanoseconds until the leases expire; 0 if none are held
   */
  record Two(
      Worker prefill, Worker decode, PdPlan plan, @Nullable String lease, long expiresInNanos)
      implements SplitChoice {}

  /**
   * One worker serves the whole request, or no worker does.
   *
   * @param asked the routing request used for the choice, including its notes
   * @param rule the rule that prevented a split; null if no worker was chosen
   * @param needsRouter true if only the protocol prevented a split, because it requires the router
   *     between both workers
   */
  record One(Choice choice, RoutingRequest asked, @Nullable SplitRule rule, boolean needsRouter)
      implements SplitChoice {}
}
