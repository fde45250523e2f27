package io.pointsman.app.wiring;

import io.pointsman.app.config.PointsmanConfig;
import io.pointsman.app.explain.DecisionLog;
import io.pointsman.app.explain.DecisionsApi;
import io.pointsman.app.metrics.RouterMetrics;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.env.Dice;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.LostHits;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.proxy.local.LocalRoutes;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Those who look on while requests are placed and answered, after what learns for the policies:
 * they change nothing.
 */
final class Observers {
  private final DecisionLog log;
  private final BiFunction<Role, @Nullable String, String> policyNames;

  /**
   * @param policyNames the configured name of the policy for a role and a model
   */
  Observers(
      PointsmanConfig config,
      BiFunction<Role, @Nullable String, String> policyNames,
      Ticker ticker,
      Dice dice) {
    this.policyNames = policyNames;
    log = new DecisionLog(config.decisions(), ticker, dice);
  }

  DecisionLog log() {
    return log;
  }

  /** The policies with those who look on. Call once. */
  StagePolicies watch(StagePolicies policies, RouterMetrics metrics) {
    AnswerLearner predictions = metrics.predictions();
    metrics.lostHits(lostHits(policies));
    return policies.each(setup -> watched(setup, predictions));
  }

  /** Where nobody learns from answers, none is looked at for the sake of a log. */
  private PolicySetup watched(PolicySetup setup, AnswerLearner predictions) {
    return setup.answerLearners().isEmpty()
        ? setup.with(log)
        : setup.withAnswers(predictions).withAnswers(log);
  }

  private static List<LostHits> lostHits(StagePolicies policies) {
    Set<LostHits> all = new LinkedHashSet<>();
    for (PolicySetup setup : policies.all()) {
      Insight insight = setup.insight();
      if (insight != null) {
        all.add(insight.lostHits());
      }
    }
    return List.copyOf(all);
  }

  /** Adds what they answer themselves. */
  void addTo(LocalRoutes.Builder routes) {
    new DecisionsApi(log, policyNames).addTo(routes);
  }
}
