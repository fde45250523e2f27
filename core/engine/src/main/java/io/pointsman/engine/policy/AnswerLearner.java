package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Lease;

/** A learner that also receives the first tokens of responses. Called as {@link Learner} is. */
public interface AnswerLearner extends Learner {
  /**
   * Reports the first token for {@code request}, at {@link Lease#firstTokenAt}. That time may lie
   * in the past if an external proxy reports it at the end. Non-streaming responses report none;
   * for a prefill, the end is the first token. The call may come after the end of a lease if
   * another thread settles it at the same time.
   */
  void answered(RoutingRequest request, Lease lease);
}
