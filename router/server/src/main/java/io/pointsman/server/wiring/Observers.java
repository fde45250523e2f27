package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;

import io.pointsman.api.decisions.DecisionsApi;
import io.pointsman.api.decisions.ShadowApi;
import io.pointsman.api.page.ActivityApi;
import io.pointsman.api.page.OperatorPage;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.control.health.Rounds;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.observe.activity.FleetActivity;
import io.pointsman.observe.decisions.DecisionLog;
import io.pointsman.observe.metrics.RouterMetrics;
import io.pointsman.proxy.local.LocalRoutes;
import java.time.Duration;
import java.util.Deque;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Observers of placements and responses: metrics, decision log, shadow policy. They run after the
 * policies' learners and change nothing.
 */
final class Observers {
  /** Interval at which further decisions may be explained. */
  private static final Duration LOG_PAUSE = Duration.ofSeconds(1);

  private final PointsmanConfig config;
  private final DecisionLog log;
  private final FleetActivity activity;
  private volatile List<CacheMissAttribution> misses = List.of();
  private @Nullable Shadow shadow;

  /** Compares predictions with measurements; null before {@link #watch}. */
  private @Nullable AnswerLearner predictions;

  private final BiFunction<Role, @Nullable String, String> policyNames;
  private boolean insightsMeasured;

  /**
   * @param policyNames configured name of the policy for a role and a model
   */
  Observers(
      PointsmanConfig config,
      Fleet fleet,
      BiFunction<Role, @Nullable String, String> policyNames,
      Ticker ticker,
      RandomSource random) {
    this.config = config;
    this.policyNames = policyNames;
    log = new DecisionLog(config.decisions(), ticker, random);
    activity = new FleetActivity(fleet, fleet.slots(), ticker);
  }

  FleetActivity activity() {
    return activity;
  }

  DecisionLog log() {
    return log;
  }

  /**
   * Adds the observers to the policies of the assembly. Call once.
   *
   * @param control receives the resources to close
   */
  StagePolicies watch(EngineAssembly core, RouterMetrics metrics, Deque<AutoCloseable> control) {
    predictions = metrics.predictions();
    control.push(Rounds.start("activity", FleetActivity.STEP, activity::sample));
    control.push(Rounds.start("decision-log", LOG_PAUSE, log::refill));
    measure(core, metrics);
    core.captures.measure(
        counts -> metrics.capture(counts::written, counts::dropped, counts::failed));
    Shadow second = new Shadow(core, metrics::shadow);
    shadow = second;
    control.push(second);
    second.use(second.prepared(config));
    return watched(core.policies);
  }

  /** Reports the insights of the present policies. */
  void measure(EngineAssembly core, RouterMetrics metrics) {
    List<Insight> insights = core.insights();
    misses = insights.stream().map(Insight::cacheMisses).toList();
    metrics.cacheMisses(misses);
    insightsMeasured |= !insights.isEmpty();
    if (insightsMeasured) {
      // An empty list releases the memory of the policies before.
      metrics.cacheModels(insights);
      metrics.fallbacks(insights);
    }
  }

  /** Adds the observers to policies. Call it after {@link #watch}. */
  StagePolicies watched(StagePolicies policies) {
    StagePolicies watched = policies.each(this::watched);
    return shadow().around(watched);
  }

  /** The shadow policy. Call it after {@link #watch}. */
  Shadow shadow() {
    return requireNonNull(shadow);
  }

  /** Compares predictions only if the policy learns from responses. */
  private PolicySetup watched(PolicySetup setup) {
    AnswerLearner compared = predictions;
    PolicySetup counted = setup.with(activity);
    return (setup.answerLearners().isEmpty() || compared == null
            ? counted
            : counted.withAnswers(compared))
        .withAnswers(log);
  }

  /**
   * Adds the observers' routes and the page.
   *
   * @param policy name of the present policy
   * @param waiting number of requests that wait for admission or a worker
   * @param decides true if the decision service is on
   */
  void addTo(
      LocalRoutes.Builder routes,
      Fleet fleet,
      Supplier<String> policy,
      IntSupplier waiting,
      boolean decides) {
    OperatorPage.addTo(routes);
    new DecisionsApi(log, policyNames).addTo(routes);
    Shadow second = shadow();
    new ActivityApi(
            fleet,
            activity,
            () -> misses,
            waiting,
            new ActivityApi.Parts(policy, second::name, decides))
        .addTo(routes);
    new ShadowApi(second::comparison).addTo(routes);
  }
}
