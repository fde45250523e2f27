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
 * A policy ready for use.
 *
 * @param learners what it learns from, told of each placement in this order
 * @param answerLearners those of the learners that are told of first tokens too
 * @param sessions the sessions that it keeps, one of the learners; null if it keeps none
 * @param prefixes the prefixes that it knows, to be measured; null if it knows none
 * @param insight what it can tell of its decisions; null if it predicts nothing
 * @param wanted what it reads of clients' requests
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

  /** A policy that says itself what it reads of clients' requests. */
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

  /** A policy that needs to know nothing of first tokens. */
  public PolicySetup(
      Policy policy,
      List<Learner> learners,
      @Nullable SessionTable sessions,
      @Nullable PrefixIndex prefixes) {
    this(policy, learners, List.of(), sessions, prefixes, null);
  }

  /** A policy that knows no prefixes. */
  public PolicySetup(Policy policy, List<Learner> learners, @Nullable SessionTable sessions) {
    this(policy, learners, sessions, null);
  }

  /** A policy that keeps no sessions either. */
  public PolicySetup(Policy policy, List<Learner> learners) {
    this(policy, learners, null);
  }

  /** The same, with one more that is told of placements, after the others. */
  public PolicySetup with(Learner further) {
    return new PolicySetup(
        policy, appended(learners, further), answerLearners, sessions, prefixes, insight, wanted);
  }

  /**
   * The same, with one more that is told of placements, first tokens and token counts, after the
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
