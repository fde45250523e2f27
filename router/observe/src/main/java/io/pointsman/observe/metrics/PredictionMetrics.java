package io.pointsman.observe.metrics;

import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.RoutingRequest;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Histogram;

/** Compares predictions with measurements: times to first token, and cached shares of prompts. */
final class PredictionMetrics implements AnswerLearner {
  private final DistributionDataPoint predicted;
  private final DistributionDataPoint measured;
  private final DistributionDataPoint early;
  private final DistributionDataPoint late;
  private final DistributionDataPoint over;
  private final DistributionDataPoint under;

  PredictionMetrics(Meters meters) {
    Histogram times = meters.histogram(DecisionMetric.PREDICTED_TTFT, Meters.FIRST_BYTE_SECONDS);
    predicted = times.labelValues("predicted");
    measured = times.labelValues("measured");
    Histogram errors = meters.histogram(DecisionMetric.TTFT_ERROR, Meters.FIRST_BYTE_SECONDS);
    early = errors.labelValues("early");
    late = errors.labelValues("late");
    Histogram hits = meters.histogram(DecisionMetric.HIT_ERROR, Meters.RATIO);
    over = hits.labelValues("over");
    under = hits.labelValues("under");
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {}

  @Override
  public void answered(RoutingRequest request, LeaseView lease, long at) {
    double expected = request.result().predictedMillis() / 1e3;
    if (Double.isNaN(expected)) {
      return;
    }
    double came = (at - lease.placedAt()) / 1e9;
    predicted.observe(expected);
    measured.observe(came);
    (expected < came ? early : late).observe(Math.abs(expected - came));
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    Usage usage = lease.usage();
    // A decode after a separate prefill does not use its own cache.
    boolean computes = request.role() != Role.DECODE;
    boolean expects = request.result().expectsHits();
    if (computes && expects && usage.promptTokens() > 0 && usage.cachedTokens() >= 0) {
      double expected = request.prefix().ratio(request.result().matchedBlocks());
      double found = Math.min(1, (double) usage.cachedTokens() / usage.promptTokens());
      (expected > found ? over : under).observe(Math.abs(expected - found));
    }
  }

  @Override
  public void forget(Worker worker) {}
}
