package io.pointsman.engine.choice;

import io.pointsman.engine.disagg.SplitRule;
import io.pointsman.engine.disagg.plan.PdPlan;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import org.jspecify.annotations.Nullable;

/** The answer to a plane that asks where a request to prefill and decode workers should go. */
public sealed interface SplitChoice {
  /**
   * Two workers serve it.
   *
   * @param plan what to ask of them and in which order: {@link PdPlan.Sequential} or {@link
   *     PdPlan.Concurrent}, and nothing that must be waited for beside the answers
   * @param lease the id of the places on both; null if none are held
   * @param expiresInNanos how long they are held without a further word; 0 if they are not
   */
  record Two(
      Worker prefill, Worker decode, PdPlan plan, @Nullable String lease, long expiresInNanos)
      implements SplitChoice {}

  /**
   * One worker serves the whole request, or none does.
   *
   * @param asked the question that the worker was chosen by, with the notes of that
   * @param rule why it is not split; null if no worker was chosen
   * @param needsRouter whether the protocol needs the router itself between the two workers, so
   *     that the request was not split for that alone
   */
  record One(Choice choice, RoutingRequest asked, @Nullable SplitRule rule, boolean needsRouter)
      implements SplitChoice {}
}
