package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Lease;

/** A learner that also wants to know when workers begin to answer. Called as {@link Learner} is. */
public interface AnswerLearner extends Learner {
  /**
   * The first token for {@code request} has come, at {@link Lease#firstTokenAt}: now, or earlier
   * where another plane says so only at the end. Not heard of for an answer in one piece, unless it
   * is that of a prefill, whose end is its first token; may come after the end of a lease that
   * another thread settles at the same time.
   */
  void answered(RoutingRequest request, Lease lease);
}
