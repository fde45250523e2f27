package io.pointsman.observe.metrics;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetListener;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.observe.metrics.RecentRate.RateChange;
import io.pointsman.observe.metrics.VllmRouterMetrics.Name;
import io.pointsman.proxy.telemetry.RequestReport;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.DoubleBinaryOperator;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Metrics of the vLLM production stack's router under its names, for existing dashboards and
 * autoscalers. They are read from this router's own counts. Workers with the same URL share one
 * series. It follows the fleet while it is in use. Thread-safe.
 */
final class StackMetrics implements FleetListener {
  private static final Name PODS =
      new Name(
          Metric.Kind.COUNTER, // a gauge there, but the name is valid only for a counter here
          "vllm:healthy_pods_total",
          "1 while the engine is healthy, else 0.",
          List.of("server"));
  private static final Name RUNNING =
      gauge(
          "vllm:num_requests_running",
          "Requests in flight on the engine, as counted by this router.");
  private static final Name WAITING =
      gauge(
          "vllm:num_requests_waiting",
          "Requests in the engine's queue, by its last report (engine-load.interval); else 0.");
  private static final Name PREFILLING =
      gauge(
          "vllm:num_prefill_requests",
          "Requests in flight on the engine before their first output.");
  private static final Name ANSWERING =
      gauge(
          "vllm:num_decoding_requests",
          "Requests in flight on the engine after their first output.");
  private static final Name SWAPPED = gauge("vllm:num_requests_swapped", "Always 0, as there.");
  private static final Name QPS =
      gauge(
          "vllm:current_qps",
          "Requests that ended on the engine in a second, on average since the scrape a minute"
              + " ago.");
  private static final Name LATENCY =
      gauge(
          "vllm:avg_latency",
          "Mean duration of requests in seconds since the scrape a minute ago; -1 if none ended.");
  private static final Name DECODING =
      gauge("vllm:avg_decoding_length", "Always -1, as there: not measured.");
  private static final Name BETWEEN = gauge("vllm:avg_itl", "Always -1, as there: not measured.");
  private static final Name HIT_RATE =
      gauge(
          "vllm:gpu_prefix_cache_hit_rate",
          "Cached share of the prompt tokens that the engine reported in answers.");
  private static final Name HITS =
      new Name(
          Metric.Kind.COUNTER, // a gauge there, as above
          "vllm:gpu_prefix_cache_hits_total",
          "Cached prompt tokens that the engine reported in answers.",
          List.of("server"));
  private static final Name QUERIES =
      new Name(
          Metric.Kind.COUNTER, // a gauge there, as above
          "vllm:gpu_prefix_cache_queries_total",
          "Prompt tokens that the engine reported in answers.",
          List.of("server"));
  private static final Name INCOMING =
      new Name(
          Metric.Kind.COUNTER,
          "vllm:num_incoming_requests_total",
          "Requests that named the model and have ended, including refused ones, or wait for a"
              + " worker. Names that no engine ever had count as other.",
          List.of("model"));
  private static final Name DECISIONS =
      new Name(
          Metric.Kind.COUNTER,
          "vllm:routing_decisions_total",
          "Placed requests. algorithm is the policy; decision: primary, fallback; reason:"
              + " round_robin, session_affinity, missing_session, prefix_match, no_cache_match,"
              + " load_aware, requested_endpoint, backend_error, unknown.",
          List.of("algorithm", "decision", "reason"));
  private static final Name CPU =
      host("router_cpu_usage_percent", "Processor time of the machine that is not idle.");
  private static final Name MEMORY =
      host("router_memory_usage_percent", "Memory of the machine that programs cannot get.");
  private static final Name DISK =
      host("router_disk_usage_percent", "Used space of the root file system.");

  /** All metrics, for the documentation. */
  static final List<Name> ALL =
      List.of(
          PODS,
          RUNNING,
          WAITING,
          PREFILLING,
          ANSWERING,
          SWAPPED,
          QPS,
          LATENCY,
          DECODING,
          BETWEEN,
          HIT_RATE,
          HITS,
          QUERIES,
          INCOMING,
          StackRequests.INPUT,
          StackRequests.OUTPUT,
          StackRequests.ERRORS,
          StackRequests.LATENCY,
          DECISIONS,
          CPU,
          MEMORY,
          DISK);

  private final Fleet fleet;
  private final ProxyMetrics proxy;
  private final EngineMetrics engine;
  private final StackRequests requests;
  private final Ticker ticker;
  private final PrometheusRegistry registry = new PrometheusRegistry();

  /** By engine of the fleet. */
  private final Map<String, RecentRate> rates = new ConcurrentHashMap<>();

  /** By model label, so bounded. Guarded by this. */
  private final Map<String, Long> highest = new HashMap<>();

  StackMetrics(
      Fleet fleet, ProxyMetrics proxy, EngineMetrics engine, ModelLabels models, Ticker ticker) {
    this.fleet = fleet;
    this.proxy = proxy;
    this.engine = engine;
    this.ticker = ticker;
    requests = new StackRequests(registry, models);
  }

  private static Name gauge(String name, String meaning) {
    return new Name(Metric.Kind.GAUGE, name, meaning, List.of("server"));
  }

  private static Name host(String name, String meaning) {
    return new Name(Metric.Kind.GAUGE, name, meaning, List.of());
  }

  /** A counter must not fall, although a request can be counted twice for a moment. */
  private synchronized Map<String, Long> incoming() {
    proxy.incomingByModel().forEach((model, count) -> highest.merge(model, count, Math::max));
    return Map.copyOf(highest);
  }

  void register() {
    put(PODS, byUrl(worker -> worker.health().healthy() ? 1 : 0, Math::min));
    put(RUNNING, byUrl(Worker::inFlight, Double::sum));
    put(WAITING, byUrl(worker -> worker.capacity().reported().waiting(), Math::max));
    put(
        PREFILLING,
        byUrl(worker -> Math.max(0, worker.inFlight() - worker.answering()), Double::sum));
    put(ANSWERING, byUrl(Worker::answering, Double::sum));
    put(SWAPPED, byUrl(_ -> 0, Double::sum));
    put(QPS, perServer(server -> recent(server).perSecond()));
    put(LATENCY, perServer(server -> recent(server).mean()));
    put(DECODING, perServer(_ -> -1));
    put(BETWEEN, perServer(_ -> -1));
    put(HIT_RATE, perServer(server -> hitRate(requests.of(server))));
    put(HITS, perServer(server -> tokens(requests.of(server), StackRequests.Sums::cachedTokens)));
    put(
        QUERIES,
        perServer(server -> tokens(requests.of(server), StackRequests.Sums::promptTokens)));
    VllmRouterMetrics.put(
        registry, INCOMING, sink -> incoming().forEach((model, count) -> sink.put(count, model)));
    VllmRouterMetrics.put(registry, DECISIONS, this::decisions);
    VllmRouterMetrics.put(registry, CPU, sink -> sink.put(HostUse.cpuPercent()));
    VllmRouterMetrics.put(registry, MEMORY, sink -> sink.put(HostUse.memoryPercent()));
    VllmRouterMetrics.put(registry, DISK, sink -> sink.put(HostUse.diskPercent()));
  }

  /** All values now. */
  MetricSnapshots scrape() {
    return registry.scrape();
  }

  /** Counts a request at its end. */
  void ended(RequestReport report) {
    requests.ended(report);
  }

  @Override
  public void changed(FleetSnapshot now) {
    requests.changed(now);
    List<String> servers = now.workers().stream().map(VllmRouterMetrics::label).distinct().toList();
    rates.keySet().retainAll(servers);
    servers.forEach(server -> rates.computeIfAbsent(server, _ -> new RecentRate(ticker.nanos())));
  }

  private RateChange recent(String server) {
    RecentRate rate = rates.get(server);
    if (rate == null) {
      return new RateChange(0, -1);
    }
    StackRequests.Sums sums = requests.of(server);
    return sums == null
        ? rate.until(ticker.nanos(), 0, 0)
        : rate.until(ticker.nanos(), (double) sums.requests(), sums.seconds());
  }

  private static double hitRate(StackRequests.@Nullable Sums sums) {
    return sums == null || sums.promptTokens() == 0
        ? 0
        : (double) sums.cachedTokens() / sums.promptTokens();
  }

  private static double tokens(
      StackRequests.@Nullable Sums sums, ToDoubleFunction<StackRequests.Sums> of) {
    return sums == null ? 0 : of.applyAsDouble(sums);
  }

  private void put(Name name, Supplier<Map<String, Double>> values) {
    VllmRouterMetrics.put(
        registry, name, sink -> values.get().forEach((server, value) -> sink.put(value, server)));
  }

  private Supplier<Map<String, Double>> byUrl(
      ToDoubleFunction<Worker> value, DoubleBinaryOperator merge) {
    return () -> VllmRouterMetrics.byUrl(fleet.snapshot().workers(), value, merge);
  }

  /** A value for each engine, read once. */
  private Supplier<Map<String, Double>> perServer(ToDoubleFunction<String> value) {
    return () ->
        fleet.snapshot().workers().stream()
            .map(VllmRouterMetrics::label)
            .distinct()
            .collect(Collectors.toMap(server -> server, value::applyAsDouble));
  }

  private void decisions(Meters.Sink sink) {
    Map<List<String>, Long> sums = new HashMap<>();
    engine.eachDecision(
        (policy, reason, count) ->
            sums.merge(List.of(policy, kind(reason), name(reason)), count, Long::sum));
    sums.forEach((labels, sum) -> sink.put(sum, labels.toArray(new String[0])));
  }

  private static String kind(PickReason reason) {
    return reason == PickReason.FALLBACK ? "fallback" : "primary";
  }

  private static String name(PickReason reason) {
    return switch (reason) {
      case TURN -> "round_robin";
      case HASH, HASH_SPILL, STICKY_HIT, STICKY_BIND, STICKY_MOVE -> "session_affinity";
      case STICKY_BYPASS, STICKY_FULL -> "missing_session";
      case PREFIX_HIT -> "prefix_match";
      case PREFIX_MISS -> "no_cache_match";
      case LEAST_LOAD, LEAST_COST, LOAD_IMBALANCE -> "load_aware";
      case PINNED -> "requested_endpoint";
      case FALLBACK -> "backend_error";
      case RANDOM -> "unknown";
    };
  }
}
