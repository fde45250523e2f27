package io.pointsman.observe.metrics;

import io.pointsman.control.discovery.DiscoveryTally;
import io.pointsman.control.kvevents.KvEventTally;
import io.pointsman.control.kvevents.KvEvents;
import io.pointsman.control.kvtokens.TokenTally;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.ExternalLeaseTally;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.kv.KnownTexts;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.prefix.PrefixIndex;
import io.pointsman.engine.shadow.ShadowReport;
import io.pointsman.pd.telemetry.SplitListener;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.retry.PoisonMemory;
import io.pointsman.proxy.telemetry.ConnectionTally;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToLongBiFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * All metrics of one router. Counts events of the engine and the proxy; all other values are read
 * at each scrape. It is a list; {@link Metric} has the names.
 */
public final class RouterMetrics {
  /** Maximum number of models with their own label; further ones count as {@code other}. */
  static final int MOST_MODELS = 64;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Meters meters = new Meters(registry);
  private final Fleet fleet;
  private final Function<Role, String> policies;
  private final WorkerTallies tallies;
  private final ModelLabels models;
  private final EngineMetrics engine;
  private final ProxyMetrics proxy;
  private final SplitMetrics split;
  private final Ticker ticker;
  private volatile LongSupplier queued = () -> 0;
  private final AtomicReference<@Nullable List<PrefixIndex>> indexes = new AtomicReference<>();
  private final AtomicReference<@Nullable List<Insight>> fallbacks = new AtomicReference<>();
  private final AtomicReference<@Nullable List<Insight>> cacheModels = new AtomicReference<>();
  private final AtomicReference<@Nullable List<CacheMissAttribution>> misses =
      new AtomicReference<>();

  /** Replaced as a whole. */
  private volatile OtherNames names = OtherNames.NONE;

  /**
   * @param policies configured name of the policy for each role, used as a label
   * @param slots number of slots of the fleet
   * @param version version of the program
   */
  public RouterMetrics(
      Fleet fleet, Function<Role, String> policies, int slots, Ticker ticker, String version) {
    this.fleet = fleet;
    this.policies = policies;
    this.ticker = ticker;
    tallies = new WorkerTallies(slots);
    models = new ModelLabels(MOST_MODELS);
    fleet.listen(snapshot -> models.add(snapshot.modelNames()));
    WorkerDemand demand = new WorkerDemand(meters, models);
    engine = new EngineMetrics(meters, policies, tallies, demand);
    proxy = new ProxyMetrics(meters, models, demand);
    split = new SplitMetrics(meters);
    new FleetMetrics(fleet, tallies, ticker).register(meters);
    ProcessMetrics.register(meters, version);
    registry.register((MultiCollector) () -> names.scrape());
  }

  /**
   * Sets the policy names of models and creates labels for these models before a worker serves
   * them.
   *
   * @param names configured policy names by model
   */
  public void policiesOfModels(Map<String, String> names) {
    engine.policiesOfModels(names);
    models.add(names.keySet());
  }

  /** Reads the names of the roles' policies again, because the policies have changed. */
  public void policiesChanged() {
    engine.policies(policies);
  }

  /** Creates labels for models before a worker serves them. */
  public void expect(Set<String> expected) {
    models.add(expected);
  }

  /** Counts the engine's decisions. */
  public EngineListener engineListener() {
    return engine;
  }

  /** Counts the proxy's requests. */
  public ProxyListener proxyListener() {
    return proxy;
  }

  /** Counts requests that can be split. */
  public SplitListener splitListener() {
    return split;
  }

  /**
   * Adds the number of client connections. Call once.
   *
   * @param limit maximum number of connections; 0: unlimited
   */
  public RouterMetrics clients(LongSupplier connected, LongSupplier limit) {
    meters.pulled(RequestMetric.CLIENT_CONNECTIONS_LIMIT, sink -> sink.put(limit.getAsLong()));
    meters.pulled(RequestMetric.CLIENT_CONNECTIONS, sink -> sink.put(connected.getAsLong()));
    return this;
  }

  /**
   * Adds the client connections by protocol. Call once.
   *
   * @param adminHandshakesFailed number of failed TLS handshakes of the admin listener
   */
  public RouterMetrics protocols(ConnectionTally tally, LongSupplier adminHandshakesFailed) {
    meters.pulled(
        RequestMetric.CLIENT_PROTOCOLS,
        sink -> {
          sink.put(tally.begun(false, false), "http1", "none");
          sink.put(tally.begun(true, false), "http2", "none");
          sink.put(tally.begun(false, true), "http1", "tls");
          sink.put(tally.begun(true, true), "http2", "tls");
        });
    meters.pulled(
        RequestMetric.TLS_HANDSHAKES_FAILED,
        sink -> {
          sink.put(tally.failedHandshakes(), "clients");
          sink.put(adminHandshakesFailed.getAsLong(), "admin");
        });
    return this;
  }

  /** Adds the number of requests that wait for admission. Call once. */
  public RouterMetrics queue(LongSupplier length) {
    queued = length;
    meters.pulled(RequestMetric.QUEUE_LENGTH, sink -> sink.put(length.getAsLong()));
    return this;
  }

  /** Adds the number of requests deferred because every worker is full. Call once. */
  public RouterMetrics deferred(LongSupplier deferred) {
    meters.pulled(RequestMetric.DEFERRED_REQUESTS, sink -> sink.put(deferred.getAsLong()));
    return this;
  }

  /** Adds the number of requests refused as poison. Call once. */
  public RouterMetrics poison(PoisonMemory memory) {
    meters.pulled(RequestMetric.POISON_REFUSED, sink -> sink.put(memory.refused()));
    return this;
  }

  /** Adds the sources of workers and their problems. Call once. */
  public RouterMetrics discovery(WorkerSources sources, DiscoveryTally tally) {
    perSource(FleetMetric.DISCOVERY_WORKERS, sources::count);
    perSource(FleetMetric.DISCOVERY_FAILING, tally::failing);
    perSource(FleetMetric.DISCOVERY_FAILURES, tally::failures);
    return this;
  }

  private void perSource(Metric metric, ToLongFunction<WorkerSource> value) {
    meters.pulled(
        metric,
        sink -> {
          for (WorkerSource source : WorkerSource.values()) {
            sink.put(value.applyAsLong(source), EngineMetrics.label(source));
          }
        });
  }

  /** Adds the memory of buffered request bodies. Call once. */
  public RouterMetrics bodies(BodyBudget bodies) {
    meters.pulled(RequestMetric.BUFFERED_BYTES, sink -> sink.put(bodies.taken()));
    meters.pulled(RequestMetric.BUFFERS_REFUSED, sink -> sink.put(bodies.refused()));
    return this;
  }

  /** Adds the number of requests that wait for prefill or decode workers. Call once. */
  public RouterMetrics splitWaiting(IntSupplier waiting) {
    meters.pulled(RequestMetric.SPLIT_WAITING, sink -> sink.put(waiting.getAsInt()));
    return this;
  }

  /** Sums over prefix indexes: memory, limit, blocks and evictions. A later call replaces them. */
  public RouterMetrics prefixIndex(List<PrefixIndex> all) {
    if (indexes.getAndSet(List.copyOf(all)) != null) {
      return this;
    }
    summed(DecisionMetric.PREFIX_INDEX_BYTES, indexes, PrefixIndex::bytes);
    summed(DecisionMetric.PREFIX_INDEX_MAX_BYTES, indexes, PrefixIndex::maxBytes);
    summed(DecisionMetric.PREFIX_INDEX_BLOCKS, indexes, PrefixIndex::entries);
    summed(DecisionMetric.PREFIX_INDEX_EVICTIONS, indexes, PrefixIndex::evictions);
    return this;
  }

  /** The fallbacks of policies to least load. A later call replaces them. */
  public RouterMetrics fallbacks(List<Insight> all) {
    if (fallbacks.getAndSet(List.copyOf(all)) != null) {
      return this;
    }
    summed(DecisionMetric.COST_FALLBACK, fallbacks, i -> i.fallback().active() ? 1 : 0);
    summed(DecisionMetric.COST_FALLBACKS, fallbacks, i -> i.fallback().activations());
    return this;
  }

  /** The memory of cache models and its limit. A later call replaces them. */
  public RouterMetrics cacheModels(List<Insight> all) {
    if (cacheModels.getAndSet(List.copyOf(all)) != null) {
      return this;
    }
    summed(DecisionMetric.COST_CACHE_BYTES, cacheModels, insight -> insight.memory().bytes());
    summed(
        DecisionMetric.COST_CACHE_MAX_BYTES, cacheModels, insight -> insight.memory().maxBytes());
    return this;
  }

  private <T> void summed(
      Metric metric, AtomicReference<@Nullable List<T>> all, ToLongFunction<T> value) {
    meters.pulled(metric, sink -> sink.put(present(all).stream().mapToLong(value).sum()));
  }

  private static <T> List<T> present(AtomicReference<@Nullable List<T>> all) {
    List<T> now = all.get();
    return now == null ? List.of() : now;
  }

  /**
   * Compares predictions with measurements. Call once and register the result as a learner of
   * policies that predict.
   */
  public AnswerLearner predictions() {
    return new PredictionMetrics(meters);
  }

  /**
   * Expected and found cached tokens, and the reasons for cache misses. A later call replaces them.
   */
  public RouterMetrics cacheMisses(List<CacheMissAttribution> all) {
    if (misses.getAndSet(List.copyOf(all)) != null) {
      return this;
    }
    meters.pulled(
        DecisionMetric.PROMPT_TOKENS,
        sink -> {
          List<CacheMissAttribution> sums = present(misses);
          sink.put(sums.stream().mapToLong(CacheMissAttribution::promptTokens).sum(), "prompt");
          sink.put(sums.stream().mapToLong(CacheMissAttribution::expectedTokens).sum(), "expected");
          sink.put(sums.stream().mapToLong(CacheMissAttribution::cachedTokens).sum(), "cached");
        });
    perReason(DecisionMetric.CACHE_MISSES, CacheMissAttribution::hits);
    perReason(DecisionMetric.CACHE_MISS_TOKENS, CacheMissAttribution::tokens);
    return this;
  }

  private void perReason(Metric metric, ToLongBiFunction<CacheMissAttribution, CacheMiss> value) {
    meters.pulled(
        metric,
        sink -> {
          List<CacheMissAttribution> sums = present(misses);
          for (CacheMiss reason : CacheMiss.values()) {
            long sum = sums.stream().mapToLong(each -> value.applyAsLong(each, reason)).sum();
            sink.put(sum, EngineMetrics.label(reason));
          }
        });
  }

  /** Adds the results of KV events. Call once. */
  public RouterMetrics kvEvents(KvEvents events, KvEventTally tally) {
    new KvEventMetrics(events, tally).register(meters);
    return this;
  }

  /**
   * Adds the results of token-id queries and lookups. Call once.
   *
   * @param present the store of token ids; null while there is none
   */
  public RouterMetrics kvTokens(TokenTally tally, Supplier<@Nullable KnownTexts> present) {
    meters.pulled(
        KvMetric.KV_TOKEN_REQUESTS,
        sink -> {
          for (TokenTally.Result result : TokenTally.Result.values()) {
            sink.put(tally.of(result), EngineMetrics.label(result));
          }
        });
    meters.pulled(
        KvMetric.KV_TEXTS,
        sink -> {
          KnownTexts texts = present.get();
          if (texts != null) {
            sink.put(texts.wholes(), "complete");
            sink.put(texts.parts(), "partial");
            sink.put(texts.unknown(), "unknown");
          }
        });
    ofTexts(KvMetric.KV_TEXTS_BYTES, present, KnownTexts::bytes);
    ofTexts(KvMetric.KV_TEXTS_MAX_BYTES, present, KnownTexts::maxBytes);
    return this;
  }

  private void ofTexts(
      Metric metric, Supplier<@Nullable KnownTexts> present, ToLongFunction<KnownTexts> value) {
    meters.pulled(
        metric,
        sink -> {
          KnownTexts texts = present.get();
          if (texts != null) {
            sink.put(value.applyAsLong(texts));
          }
        });
  }

  /** Adds the results of the shadow policy. Call once. */
  public RouterMetrics shadow(Supplier<ShadowReport> report) {
    ShadowMetrics.register(meters, report);
    return this;
  }

  /** Adds the number of sticky sessions. Call once. */
  public RouterMetrics sessions(LongSupplier count) {
    meters.pulled(FleetMetric.SESSIONS, sink -> sink.put(count.getAsLong()));
    return this;
  }

  /** Adds the state and the lookups of the KV index. Call once. */
  public RouterMetrics kvIndex(KvIndex index) {
    meters.pulled(KvMetric.KV_INDEX_BYTES, sink -> sink.put(index.bytes()));
    meters.pulled(KvMetric.KV_INDEX_MAX_BYTES, sink -> sink.put(index.maxBytes()));
    meters.pulled(KvMetric.KV_INDEX_BLOCKS, sink -> sink.put(index.blocks()));
    meters.pulled(KvMetric.KV_INDEX_REFUSED, sink -> sink.put(index.refused()));
    meters.pulled(
        KvMetric.KV_LOOKUPS,
        sink -> {
          for (KvTally.LookupOutcome outcome : KvTally.LookupOutcome.values()) {
            sink.put(index.tally().counted(outcome), EngineMetrics.label(outcome));
          }
        });
    return this;
  }

  /** Adds the leases of external proxies. Call once. */
  public RouterMetrics externalLeases(Choices choices) {
    ExternalLeaseTally tally = choices.tally();
    meters.pulled(FleetMetric.EXTERNAL_LEASES, sink -> sink.put(choices.open()));
    meters.pulled(
        FleetMetric.EXTERNAL_LEASES_ENDED,
        sink -> {
          sink.put(tally.succeeded(), "succeeded");
          sink.put(tally.failed(), "failed");
          sink.put(tally.ignored(), "ignored");
          sink.put(tally.expired(), "expired");
        });
    meters.pulled(FleetMetric.EXTERNAL_LEASES_REFUSED, sink -> sink.put(tally.refused()));
    meters.pulled(
        FleetMetric.REPORTED_TOKENS,
        sink -> {
          sink.put(tally.promptTokens(), "prompt");
          sink.put(tally.cachedTokens(), "cached");
          sink.put(tally.completionTokens(), "completion");
        });
    return this;
  }

  /** Adds the results of the trace capture. Call once. */
  public RouterMetrics capture(LongSupplier written, LongSupplier dropped, LongSupplier failed) {
    meters.pulled(
        ProcessMetric.CAPTURED_REQUESTS,
        sink -> {
          sink.put(written.getAsLong(), "written");
          sink.put(dropped.getAsLong(), "dropped");
          sink.put(failed.getAsLong(), "failed");
        });
    return this;
  }

  /** Adds the results of span exports. Call once. */
  public RouterMetrics spans(LongSupplier exported, LongSupplier failed, LongSupplier dropped) {
    meters.pulled(
        ProcessMetric.TRACE_SPANS,
        sink -> {
          sink.put(exported.getAsLong(), "exported");
          sink.put(failed.getAsLong(), "failed");
          sink.put(dropped.getAsLong(), "dropped");
        });
    return this;
  }

  /**
   * The metrics under the names of other routers, before they are in use. Those that are in use
   * already keep their counts.
   *
   * @param vllmRouter true for the names of vllm-router
   * @param productionStack true for those of the vLLM production stack's router
   * @param keepsSessions true if sessions stay with their workers; may change
   */
  public OtherNames otherNames(
      boolean vllmRouter, boolean productionStack, BooleanSupplier keepsSessions) {
    OtherNames present = names;
    VllmRouterMetrics ofVllmRouter = present.vllmRouter();
    if (vllmRouter && ofVllmRouter == null) {
      ofVllmRouter = new VllmRouterMetrics(fleet, policies, engine, tallies, proxy, keepsSessions);
      ofVllmRouter.register(() -> queued.getAsLong());
    }
    StackMetrics ofStack = present.productionStack();
    if (productionStack && ofStack == null) {
      ofStack = new StackMetrics(fleet, proxy, engine, models, ticker);
      ofStack.register();
    }
    return new OtherNames(vllmRouter ? ofVllmRouter : null, productionStack ? ofStack : null);
  }

  /** The names in use. */
  public OtherNames otherNames() {
    return names;
  }

  /** Uses these names, and only these, from here on. */
  public void use(OtherNames next) {
    OtherNames before = names;
    StackMetrics ended = before.productionStack();
    StackMetrics begun = next.productionStack();
    if (begun != null && !begun.equals(ended)) {
      fleet.listen(begun);
    }
    names = next;
    proxy.also(next.isEmpty() ? null : next::ended, begun != null);
    if (ended != null && !ended.equals(begun)) {
      fleet.ignore(ended);
    }
  }

  /** Adds {@code GET /metrics} to the client port. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/metrics", request -> MetricsServer.page(registry, request.header("accept")));
  }

  PrometheusRegistry registry() {
    return registry;
  }

  Meters meters() {
    return meters;
  }
}
