package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.LeaseView;

/** A learner that also receives the first tokens of responses. Called as {@link Learner} is. */
public interface AnswerLearner extends Learner {
  /**
   * Reports the first token for {@code request}. Non-streaming responses report none; for a
   * prefill, the end is the first token. The call may come after the end of a lease if another
   * thread settles it at the same time.
   *
   * @param at its time by the engine's ticker; may lie in the past if an external proxy reports it
   *     at the end
   */
  void answered(RoutingRequest request, LeaseView lease, long at);

  /**
   * Returns true if the learner uses the answer to {@code request}. If no learner uses it, its
   * first token is not looked for. Called after the decision, more than once; must be cheap.
   */
  default boolean observes(RoutingRequest request) {
    return true;
  }
}
