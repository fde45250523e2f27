package io.pointsman.engine.policy.catalog;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.session.SessionTable;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A policy ready for use.
 *
 * @param learners what it learns from, told of each placement in this order
 * @param answerLearners those of the learners that are told of first tokens too
 * @param sessions the sessions that it keeps, one of the learners; null if it keeps none
 * @param prefixes the prefixes that it knows, to be measured; null if it knows none
 */
public record PolicySetup(
    Policy policy,
    List<Learner> learners,
    List<AnswerLearner> answerLearners,
    @Nullable SessionTable sessions,
    @Nullable PrefixIndex prefixes) {
  public PolicySetup {
    requireNonNull(policy, "policy");
    learners = List.copyOf(learners);
    answerLearners = List.copyOf(answerLearners);
  }

  /** A policy that needs to know nothing of first tokens. */
  public PolicySetup(
      Policy policy,
      List<Learner> learners,
      @Nullable SessionTable sessions,
      @Nullable PrefixIndex prefixes) {
    this(policy, learners, List.of(), sessions, prefixes);
  }

  /** A policy that knows no prefixes. */
  public PolicySetup(Policy policy, List<Learner> learners, @Nullable SessionTable sessions) {
    this(policy, learners, sessions, null);
  }

  /** A policy that keeps no sessions either. */
  public PolicySetup(Policy policy, List<Learner> learners) {
    this(policy, learners, null);
  }
}
