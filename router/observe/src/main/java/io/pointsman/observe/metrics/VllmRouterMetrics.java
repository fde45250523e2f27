package io.pointsman.observe.metrics;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.request.Endpoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.DoubleBinaryOperator;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Metrics of vllm-router with the same meaning here, under its names, for existing dashboards and
 * alerts. They are read from this router's own counts at each scrape. As there, the label {@code
 * worker} is the worker's URL. Workers with the same URL and different ids share one series. It is
 * a list of the metrics of the original.
 */
final class VllmRouterMetrics {
  /** One metric of vllm-router. */
  record Name(Metric.Kind kind, String metricName, String meaning, List<String> labels) {
    Name(Metric.Kind kind, String stem, String meaning, String... labels) {
      this(kind, "vllm_router_" + stem, meaning, List.of(labels));
    }
  }

  private static final Name REQUESTS =
      counter("requests_total", "Requests answered with 2xx, by route.", "route");
  private static final Name RETRIES =
      counter("retries_total", "Retries of requests, by route.", "route");
  private static final Name EMBEDDINGS =
      counter("embeddings_total", "Embedding requests answered with 2xx.");
  private static final Name ACTIVE = gauge("active_workers", "Workers in the fleet.");
  private static final Name HEALTH =
      gauge("worker_health", "1 if the worker is healthy.", "worker");
  private static final Name LOAD = gauge("worker_load", "Requests in flight.", "worker");
  private static final Name RUNNING = gauge("running_requests", "Requests in flight.", "worker");
  private static final Name MAX_LOAD =
      gauge("max_load", "Highest number of requests in flight on a worker.");
  private static final Name MIN_LOAD =
      gauge("min_load", "Lowest number of requests in flight on a worker.");
  private static final Name PROCESSED =
      counter("processed_requests_total", "Requests placed on the worker.", "worker");
  private static final Name DECISIONS =
      counter(
          "policy_decisions_total",
          "Requests placed on the worker, by the policy of its role.",
          "policy",
          "worker");
  private static final Name BREAKER =
      gauge(
          "cb_state", "State of the circuit breaker. 0: closed; 1: open; 2: half-open.", "worker");
  private static final Name TRANSITIONS =
      counter(
          "cb_state_transitions_total",
          "Changes of the state of the circuit breaker. from and to: closed, open, half_open.",
          "worker",
          "from",
          "to");
  private static final Name OUTCOMES =
      counter(
          "cb_outcomes_total",
          "Outcomes that circuit breakers counted: success, failure.",
          "worker",
          "outcome");
  private static final Name PREFILLS =
      counter("pd_prefill_requests_total", "Requests placed on the prefill worker.", "worker");
  private static final Name DECODES =
      counter("pd_decode_requests_total", "Requests placed on the decode worker.", "worker");
  private static final Name PREFILL_ERRORS =
      counter(
          "pd_prefill_errors_total", "Failed requests that the prefill worker caused.", "worker");
  private static final Name DECODE_ERRORS =
      counter("pd_decode_errors_total", "Failed requests that the decode worker caused.", "worker");
  private static final Name PD_ERRORS =
      counter(
          "pd_errors_total",
          "Requests for which no worker could be chosen, in a fleet with prefill or decode workers."
              + " error_type is server_selection.",
          "error_type");
  private static final Name HITS =
      counter("cache_hits_total", "Requests placed on a worker with their cached prefix.");
  private static final Name MISSES =
      counter(
          "cache_misses_total", "Requests for which no worker has enough of the prefix cached.");
  private static final Name IMBALANCE =
      counter("load_balancing_events_total", "Requests placed by load because loads were unequal.");
  private static final Name PREFIX_DECISIONS =
      counter(
          "prefix_routing_decisions_total",
          "Requests placed by cache_aware (prefix_hit, prefix_miss, load_imbalance) and kv_aware"
              + " (prefix_cost, missing_tokens, unverified_identity, sticky_hit). stage is regular,"
              + " prefill or decode.",
          "policy",
          "stage",
          "outcome");
  private static final Name AFFINITY_DECISIONS =
      counter(
          "pd_affinity_decisions_total",
          "Requests placed on decode workers while sessions are kept: sticky_hit, bind, rebind,"
              + " capacity_bypass, no_session. stage is decode.",
          "stage",
          "outcome");

  private static final Name EMBEDDINGS_QUEUE =
      gauge("embeddings_queue_size", "Requests of all endpoints in the queue (limits.queue-size).");

  private static final List<Name> READ =
      List.of(
          REQUESTS,
          RETRIES,
          EMBEDDINGS,
          ACTIVE,
          HEALTH,
          LOAD,
          RUNNING,
          MAX_LOAD,
          MIN_LOAD,
          PROCESSED,
          DECISIONS,
          BREAKER,
          TRANSITIONS,
          OUTCOMES,
          PREFILLS,
          DECODES,
          PREFILL_ERRORS,
          DECODE_ERRORS,
          PD_ERRORS,
          HITS,
          MISSES,
          IMBALANCE,
          PREFIX_DECISIONS,
          AFFINITY_DECISIONS,
          EMBEDDINGS_QUEUE);

  /** All metrics, for the documentation. */
  static final List<Name> ALL =
      Stream.of(READ, VllmRouterRequests.ALL).flatMap(List::stream).toList();

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Fleet fleet;
  private final Function<Role, String> policies;
  private final EngineMetrics engine;
  private final WorkerTallies tallies;
  private final ProxyMetrics proxy;
  private final BooleanSupplier keepsSessions;
  private final VllmRouterRequests requests;

  /**
   * @param keepsSessions true if sessions stay with their workers; may change
   */
  VllmRouterMetrics(
      Fleet fleet,
      Function<Role, String> policies,
      EngineMetrics engine,
      WorkerTallies tallies,
      ProxyMetrics proxy,
      BooleanSupplier keepsSessions) {
    this.fleet = fleet;
    this.policies = policies;
    this.engine = engine;
    this.tallies = tallies;
    this.proxy = proxy;
    this.keepsSessions = keepsSessions;
    requests = new VllmRouterRequests(registry);
  }

  private static Name counter(String stem, String meaning, String... labels) {
    return new Name(Metric.Kind.COUNTER, stem, meaning, labels);
  }

  private static Name gauge(String stem, String meaning, String... labels) {
    return new Name(Metric.Kind.GAUGE, stem, meaning, labels);
  }

  /**
   * @param queued number of requests that wait for admission
   */
  void register(LongSupplier queued) {
    routes();
    workers();
    put(registry, EMBEDDINGS_QUEUE, sink -> sink.put(queued.getAsLong()));
    put(registry, HITS, sink -> sink.put(engine.decided(PickReason.PREFIX_HIT)));
    put(registry, MISSES, sink -> sink.put(engine.decided(PickReason.PREFIX_MISS)));
    put(registry, IMBALANCE, sink -> sink.put(engine.decided(PickReason.LOAD_IMBALANCE)));
    put(registry, PREFIX_DECISIONS, engine.stages()::prefixes);
    put(
        registry,
        AFFINITY_DECISIONS,
        sink -> {
          if (keepsSessions.getAsBoolean()) {
            engine.stages().sessions(sink);
          }
        });
  }

  /** All values now. */
  MetricSnapshots scrape() {
    return registry.scrape();
  }

  /** Counts a request at its end. */
  void ended(RequestReport report) {
    requests.ended(report);
  }

  private void routes() {
    put(registry, REQUESTS, sink -> perRoute(sink, e -> proxy.of(e).succeeded()));
    put(registry, RETRIES, sink -> perRoute(sink, e -> proxy.of(e).retries()));
    put(registry, EMBEDDINGS, sink -> sink.put(proxy.of(Endpoint.EMBEDDINGS).succeeded()));
  }

  private void workers() {
    put(registry, ACTIVE, sink -> sink.put(fleet.snapshot().workers().size()));
    perWorker(HEALTH, w -> w.health().healthy() ? 1 : 0, Math::min);
    perWorker(LOAD, Worker::inFlight, Double::sum);
    perWorker(RUNNING, Worker::inFlight, Double::sum);
    put(registry, MAX_LOAD, sink -> sink.put(loads().max().orElse(0)));
    put(registry, MIN_LOAD, sink -> sink.put(loads().min().orElse(0)));
    perWorker(PROCESSED, this::placed, Double::sum);
    put(registry, DECISIONS, this::decisions);
    perWorker(BREAKER, FleetMetrics::breakerState, Math::max);
    put(registry, TRANSITIONS, this::transitions);
    put(registry, OUTCOMES, this::outcomes);
    perWorkerOf(Role.PREFILL, PREFILLS, this::placed);
    perWorkerOf(Role.DECODE, DECODES, this::placed);
    perWorkerOf(Role.PREFILL, PREFILL_ERRORS, this::failed);
    perWorkerOf(Role.DECODE, DECODE_ERRORS, this::failed);
    put(registry, PD_ERRORS, this::pdErrors);
  }

  /**
   * Writes nothing for a fleet without prefill and decode workers, because alerts use the presence
   * of this series.
   */
  private void pdErrors(Meters.Sink sink) {
    FleetSnapshot now = fleet.snapshot();
    if (!now.pool(Role.PREFILL).workers().isEmpty() || !now.pool(Role.DECODE).workers().isEmpty()) {
      sink.put(engine.rejected(), "server_selection");
    }
  }

  private void decisions(Meters.Sink sink) {
    Map<List<String>, Double> sums = new LinkedHashMap<>();
    for (Worker worker : fleet.snapshot().workers()) {
      String policy = policies.apply(worker.spec().role());
      sums.merge(List.of(policy, label(worker)), placed(worker), Double::sum);
    }
    sums.forEach((labels, sum) -> sink.put(sum, labels.toArray(new String[0])));
  }

  private IntStream loads() {
    return fleet.snapshot().workers().stream().mapToInt(Worker::inFlight);
  }

  private double placed(Worker worker) {
    WorkerTallies.WorkerTally tally = tallies.of(worker);
    return tally == null ? 0 : tally.placed();
  }

  private double failed(Worker worker) {
    WorkerTallies.WorkerTally tally = tallies.of(worker);
    return tally == null ? 0 : tally.failed();
  }

  /** Writes the changes that have happened, as there. */
  private void transitions(Meters.Sink sink) {
    for (State from : State.values()) {
      for (State to : State.values()) {
        byUrl(worker -> worker.breaker().transitions(from, to), Double::sum)
            .forEach(
                (url, sum) -> {
                  if (sum > 0) {
                    sink.put(sum, url, stateName(from), stateName(to));
                  }
                });
      }
    }
  }

  private static String stateName(State state) {
    return switch (state) {
      case CLOSED -> "closed";
      case OPEN -> "open";
      case HALF_OPEN -> "half_open";
    };
  }

  private void outcomes(Meters.Sink sink) {
    byUrl(Worker::served, Double::sum).forEach((url, sum) -> sink.put(sum, url, "success"));
    byUrl(Worker::failures, Double::sum).forEach((url, sum) -> sink.put(sum, url, "failure"));
  }

  private void perWorker(Name name, ToDoubleFunction<Worker> value, DoubleBinaryOperator merge) {
    put(registry, name, sink -> byUrl(value, merge).forEach((url, all) -> sink.put(all, url)));
  }

  private void perWorkerOf(Role role, Name name, ToDoubleFunction<Worker> value) {
    put(
        registry,
        name,
        sink ->
            byUrl(fleet.snapshot().pool(role).workers(), value, Double::sum)
                .forEach((url, sum) -> sink.put(sum, url)));
  }

  /**
   * A value per worker label, merged for equal labels, because a page must not contain a series
   * twice.
   */
  private Map<String, Double> byUrl(ToDoubleFunction<Worker> value, DoubleBinaryOperator merge) {
    return byUrl(fleet.snapshot().workers(), value, merge);
  }

  static Map<String, Double> byUrl(
      List<Worker> workers, ToDoubleFunction<Worker> value, DoubleBinaryOperator merge) {
    Map<String, Double> values = new LinkedHashMap<>();
    for (Worker worker : workers) {
      values.merge(label(worker), value.applyAsDouble(worker), merge::applyAsDouble);
    }
    return values;
  }

  private static void perRoute(Meters.Sink sink, ToDoubleFunction<Endpoint> value) {
    for (Endpoint endpoint : Endpoint.values()) {
      sink.put(value.applyAsDouble(endpoint), route(endpoint));
    }
  }

  /**
   * The path of a route that vllm-router also has; otherwise this router's name of the endpoint.
   */
  static String route(Endpoint endpoint) {
    return switch (endpoint) {
      case CHAT_COMPLETIONS -> "/v1/chat/completions";
      case COMPLETIONS -> "/v1/completions";
      case EMBEDDINGS -> "/v1/embeddings";
      case RERANK -> "/v1/rerank";
      case RESPONSES -> "/v1/responses";
      case GENERATE -> "/generate";
      case TOKEN_GENERATE -> "/inference/v1/generate";
      case RESPONSE_GET,
          RESPONSE_DELETE,
          RESPONSE_CANCEL,
          RESPONSE_INPUT_ITEMS,
          SCORE,
          POOLING,
          CLASSIFY,
          TOKENIZE,
          DETOKENIZE,
          MESSAGES,
          MESSAGES_COUNT_TOKENS,
          AUDIO_TRANSCRIPTIONS,
          AUDIO_TRANSLATIONS,
          AUDIO_SPEECH,
          IMAGES_GENERATIONS,
          IMAGES_EDITS,
          IMAGES_VARIATIONS,
          REALTIME,
          TRANSPARENT ->
          endpoint.label();
    };
  }

  static String label(Worker worker) {
    WorkerSpec spec = worker.spec();
    return spec.rank() == WorkerSpec.NO_RANK ? spec.url() : spec.url() + "@" + spec.rank();
  }

  static Counter counter(PrometheusRegistry registry, Name name) {
    return Counter.builder()
        .name(name.metricName())
        .help(name.meaning())
        .labelNames(name.labels().toArray(new String[0]))
        .withoutExemplars()
        .register(registry);
  }

  static Histogram histogram(PrometheusRegistry registry, Name name, double... bounds) {
    return Histogram.builder()
        .name(name.metricName())
        .help(name.meaning())
        .classicOnly()
        .classicUpperBounds(bounds)
        .labelNames(name.labels().toArray(new String[0]))
        .withoutExemplars()
        .register(registry);
  }

  static void put(PrometheusRegistry registry, Name name, Consumer<Meters.Sink> values) {
    String[] labels = name.labels().toArray(new String[0]);
    if (name.kind() == Metric.Kind.COUNTER) {
      CounterWithCallback.builder()
          .name(name.metricName())
          .help(name.meaning())
          .labelNames(labels)
          .callback(callback -> values.accept(callback::call))
          .register(registry);
    } else {
      GaugeWithCallback.builder()
          .name(name.metricName())
          .help(name.meaning())
          .labelNames(labels)
          .callback(callback -> values.accept(callback::call))
          .register(registry);
    }
  }
}
