package io.pointsman.observe.metrics;

import io.pointsman.pd.plan.Unsplittable;
import io.pointsman.pd.rule.SplitRule;
import io.pointsman.pd.telemetry.SplitListener;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Counts requests that can be split, and the results of their steps. Every series is resolved once.
 */
final class SplitMetrics implements SplitListener {
  private static final double NANOS = 1e9;

  private final Map<SplitRule, CounterDataPoint> rules = new EnumMap<>(SplitRule.class);
  private final Map<Unsplittable, CounterDataPoint> reasons = new EnumMap<>(Unsplittable.class);
  private final Map<Stage, DistributionDataPoint> stages = new EnumMap<>(Stage.class);
  private final Map<PrefillEnd, CounterDataPoint> prefills = new EnumMap<>(PrefillEnd.class);
  private final Map<HandoverEnd, CounterDataPoint> handovers = new EnumMap<>(HandoverEnd.class);

  SplitMetrics(Meters meters) {
    resolve(meters, RequestMetric.SPLIT_DECISIONS, SplitRule.values(), rules);
    resolve(meters, RequestMetric.UNSPLITTABLE, Unsplittable.values(), reasons);
    resolve(meters, RequestMetric.SPLIT_PREFILLS, PrefillEnd.values(), prefills);
    resolve(meters, RequestMetric.SPLIT_HANDOVERS, HandoverEnd.values(), handovers);
    Histogram seconds =
        meters.histogram(RequestMetric.SPLIT_STAGE_SECONDS, Meters.FIRST_BYTE_SECONDS);
    for (Stage stage : Stage.values()) {
      stages.put(stage, seconds.labelValues(EngineMetrics.label(stage)));
    }
  }

  private static <E extends Enum<E>> void resolve(
      Meters meters, Metric metric, E[] values, Map<E, CounterDataPoint> into) {
    Counter counter = meters.counter(metric);
    for (E value : values) {
      into.put(value, counter.labelValues(EngineMetrics.label(value)));
    }
  }

  private static <E extends Enum<E>> void count(Map<E, CounterDataPoint> series, E value) {
    CounterDataPoint found = series.get(value);
    if (found != null) {
      found.inc();
    }
  }

  @Override
  public void decided(SplitRule rule, @Nullable Unsplittable why) {
    count(rules, rule);
    if (why != null) {
      count(reasons, why);
    }
  }

  @Override
  public void stage(Stage stage, long nanos) {
    DistributionDataPoint series = stages.get(stage);
    if (series != null) {
      series.observe(nanos / NANOS);
    }
  }

  @Override
  public void prefill(PrefillEnd end) {
    count(prefills, end);
  }

  @Override
  public void handover(HandoverEnd end) {
    count(handovers, end);
  }
}
