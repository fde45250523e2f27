package io.pointsman.engine.policy.catalog;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.ReadsRequest;
import io.pointsman.engine.policy.WantedFields;
import io.pointsman.engine.policy.session.SessionTable;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A configured policy.
 *
 * @param learners its learners, notified of each placement in this order
 * @param answerLearners the learners that also receive first tokens
 * @param sessions its session table, which is one of the learners; null if there is none
 * @param prefixes its prefix index, for metrics; null if there is none
 * @param insight its diagnostics; null if it does not predict
 * @param wanted the fields of clients' requests that it reads
 */
public record PolicySetup(
    Policy policy,
    List<Learner> learners,
    List<AnswerLearner> answerLearners,
    @Nullable SessionTable sessions,
    @Nullable PrefixIndex prefixes,
    @Nullable Insight insight,
    WantedFields wanted) {
  public PolicySetup {
    requireNonNull(policy, "policy");
    learners = List.copyOf(learners);
    answerLearners = List.copyOf(answerLearners);
  }

  /** Takes the wanted fields from the policy. */
  public PolicySetup(
      Policy policy,
      List<Learner> learners,
      List<AnswerLearner> answerLearners,
      @Nullable SessionTable sessions,
      @Nullable PrefixIndex prefixes,
      @Nullable Insight insight) {
    this(
        policy,
        learners,
        answerLearners,
        sessions,
        prefixes,
        insight,
        policy instanceof ReadsRequest reader ? reader.wanted() : WantedFields.NONE);
  }

  /** A policy that does not use first tokens. */
  public PolicySetup(
      Policy policy,
      List<Learner> learners,
      @Nullable SessionTable sessions,
      @Nullable PrefixIndex prefixes) {
    this(policy, learners, List.of(), sessions, prefixes, null);
  }

  /** A policy without a prefix index. */
  public PolicySetup(Policy policy, List<Learner> learners, @Nullable SessionTable sessions) {
    this(policy, learners, sessions, null);
  }

  /** A policy without sessions. */
  public PolicySetup(Policy policy, List<Learner> learners) {
    this(policy, learners, null);
  }

  /** Returns a copy with one more learner of placements, after the others. */
  public PolicySetup with(Learner further) {
    return new PolicySetup(
        policy, appended(learners, further), answerLearners, sessions, prefixes, insight, wanted);
  }

  /**
   * Returns a copy with one more learner of placements, first tokens and token counts, after the
   * others.
   */
  public PolicySetup withAnswers(AnswerLearner further) {
    return new PolicySetup(
        policy,
        appended(learners, further),
        appended(answerLearners, further),
        sessions,
        prefixes,
        insight,
        wanted);
  }

  private static <T> List<T> appended(List<? extends T> before, T last) {
    List<T> all = new ArrayList<>(before);
    all.add(last);
    return all;
  }
}
