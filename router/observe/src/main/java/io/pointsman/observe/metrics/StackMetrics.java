package io.pointsman.observe.metrics;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.observe.metrics.VllmRouterMetrics.Name;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Metrics of the vLLM production stack's router under its names, for existing dashboards and
 * autoscalers. They are read from this router's own counts.
 */
final class StackMetrics {
  private static final Name PODS =
      new Name(
          Metric.Kind.COUNTER, // a gauge there, but the name is valid only for a counter here
          "vllm:healthy_pods_total",
          "1 while the engine is healthy, else 0.",
          List.of("server"));
  private static final Name RUNNING =
      new Name(
          Metric.Kind.GAUGE,
          "vllm:num_requests_running",
          "Requests in flight on the engine, as counted by this router.",
          List.of("server"));
  private static final Name INCOMING =
      new Name(
          Metric.Kind.COUNTER,
          "vllm:num_incoming_requests_total",
          "Requests that named the model and have ended, including refused ones, or wait for a"
              + " worker. Names that no engine ever had count as other.",
          List.of("model"));

  /** All metrics, for the documentation. */
  static final List<Name> ALL = List.of(PODS, RUNNING, INCOMING);

  private final Fleet fleet;
  private final ProxyMetrics proxy;

  /** By model label, so bounded. Guarded by this. */
  private final Map<String, Long> highest = new HashMap<>();

  StackMetrics(Fleet fleet, ProxyMetrics proxy) {
    this.fleet = fleet;
    this.proxy = proxy;
  }

  /** A counter must not fall, although a request can be counted twice for a moment. */
  private synchronized Map<String, Long> incoming() {
    proxy.incomingByModel().forEach((model, count) -> highest.merge(model, count, Math::max));
    return Map.copyOf(highest);
  }

  void register(PrometheusRegistry registry) {
    VllmRouterMetrics.put(
        registry,
        PODS,
        sink ->
            VllmRouterMetrics.byUrl(
                    fleet.snapshot().workers(), w -> w.health().healthy() ? 1 : 0, Math::min)
                .forEach((url, healthy) -> sink.put(healthy, url)));
    VllmRouterMetrics.put(
        registry,
        RUNNING,
        sink ->
            VllmRouterMetrics.byUrl(fleet.snapshot().workers(), Worker::inFlight, Double::sum)
                .forEach((url, running) -> sink.put(running, url)));
    VllmRouterMetrics.put(
        registry, INCOMING, sink -> incoming().forEach((model, count) -> sink.put(count, model)));
  }
}
