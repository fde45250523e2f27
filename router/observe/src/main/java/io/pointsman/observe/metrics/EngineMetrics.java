package io.pointsman.observe.metrics;

import io.pointsman.engine.EngineListener;
import io.pointsman.engine.ModelNames;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.deferral.WorkerWaits;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.RoutingRequest;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Counts the engine's decisions. All series are resolved at construction, so counting allocates
 * nothing.
 */
final class EngineMetrics implements EngineListener {
  private final Counter decided;
  private volatile Map<Role, PolicySeries> decisions = Map.of();
  private final StageDecisions stages = new StageDecisions();

  /** Series of models that have their own policy. */
  private volatile Map<String, PolicySeries> ofModels = Map.of();

  private final Map<RejectReason, CounterDataPoint> rejects = new EnumMap<>(RejectReason.class);
  private final CounterDataPoint policyFailures;
  private final DistributionDataPoint matchRatio;
  private final WorkerTallies tallies;
  private final WorkerDemand demand;

  private record PolicySeries(String policy, Map<PickReason, CounterDataPoint> byReason) {}

  /**
   * @param policies configured name of the policy for each role, used as a label
   */
  EngineMetrics(
      Meters meters, Function<Role, String> policies, WorkerTallies tallies, WorkerDemand demand) {
    this.tallies = tallies;
    this.demand = demand;
    decided = meters.counter(DecisionMetric.DECISIONS);
    policies(policies);
    Counter rejected = meters.counter(DecisionMetric.REJECTS);
    for (RejectReason reason : RejectReason.values()) {
      rejects.put(reason, rejected.labelValues(label(reason)));
    }
    policyFailures = meters.counter(DecisionMetric.POLICY_FAILURES);
    matchRatio = meters.histogram(DecisionMetric.PREFIX_MATCH_RATIO, Meters.RATIO);
  }

  /** Sets the policy names of the roles. */
  final void policies(Function<Role, String> policies) {
    Map<Role, PolicySeries> made = new EnumMap<>(Role.class);
    for (Role role : Role.values()) {
      made.put(role, series(policies.apply(role)));
    }
    decisions = made;
  }

  private PolicySeries series(String policy) {
    Map<PickReason, CounterDataPoint> series = new EnumMap<>(PickReason.class);
    for (PickReason reason : PickReason.values()) {
      series.put(reason, decided.labelValues(policy, label(reason)));
    }
    return new PolicySeries(policy, series);
  }

  /** Sets the policy names of models; whole requests for them are counted under these names. */
  void policiesOfModels(Map<String, String> names) {
    Map<String, PolicySeries> series = new HashMap<>();
    names.forEach((model, policy) -> series.put(model, series(policy)));
    ofModels = Map.copyOf(series);
  }

  private @Nullable PolicySeries series(RoutingRequest request) {
    String model = request.role() == Role.REGULAR ? request.model() : null;
    return ModelNames.find(ofModels, model, decisions.get(request.role()));
  }

  /** Receives a number of placements. */
  @FunctionalInterface
  interface DecisionSink {
    void put(String policy, PickReason reason, long count);
  }

  /** Reads the number of placements by policy and reason. */
  void eachDecision(DecisionSink sink) {
    Map<String, PolicySeries> byPolicy = new HashMap<>();
    ofModels.values().forEach(series -> byPolicy.put(series.policy(), series));
    decisions.values().forEach(series -> byPolicy.put(series.policy(), series));
    byPolicy.forEach(
        (policy, series) ->
            series
                .byReason()
                .forEach((reason, count) -> sink.put(policy, reason, count.getLongValue())));
  }

  /** Number of placements with this reason. */
  long decided(PickReason reason) {
    // Roles and models with the same policy share their series.
    return Stream.concat(decisions.values().stream(), ofModels.values().stream())
        .map(ofRole -> ofRole.byReason().get(reason))
        .distinct()
        .mapToLong(series -> series == null ? 0 : series.getLongValue())
        .sum();
  }

  /** Decisions by stage. */
  StageDecisions stages() {
    return stages;
  }

  /** Number of requests for which no worker could be chosen. */
  long rejected() {
    return rejects.values().stream().mapToLong(CounterDataPoint::getLongValue).sum();
  }

  @Override
  public void routed(RoutingRequest request, LeaseView lease) {
    PickResult result = request.result();
    PolicySeries series = series(request);
    if (series != null) {
      count(series.byReason().get(result.reason()));
      stages.count(series.policy(), request);
    }
    tallies.placed(lease.worker());
    switch (result.reason()) {
      case PREFIX_HIT, PREFIX_MISS, LEAST_COST, LOAD_IMBALANCE ->
          matchRatio.observe(request.prefix().ratio(result.matchedBlocks()));
      case RANDOM,
          TURN,
          LEAST_LOAD,
          HASH,
          HASH_SPILL,
          STICKY_HIT,
          STICKY_BIND,
          STICKY_MOVE,
          STICKY_BYPASS,
          STICKY_FULL,
          PINNED,
          FALLBACK -> {
        // Policies with these reasons ignore the prompt.
      }
    }
  }

  @Override
  public void rejected(RoutingRequest request, RejectReason reason) {
    count(rejects.get(reason));
    if (WorkerWaits.useful(reason) && !request.waits().awaited()) {
      demand.withoutWorker(request.model());
    }
  }

  @Override
  public void settled(LeaseView lease, Outcome outcome) {
    tallies.settled(lease.worker(), outcome);
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    policyFailures.inc();
  }

  private static void count(@Nullable CounterDataPoint series) {
    if (series != null) {
      series.inc();
    }
  }

  static String label(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
