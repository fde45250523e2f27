package io.pointsman.app.metrics;

import io.pointsman.app.kvevents.KvEventTally;
import io.pointsman.app.kvevents.KvEvents;
import io.pointsman.app.kvtokens.TokenTally;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.HoldTally;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.kv.KnownTexts;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.LostHit;
import io.pointsman.engine.policy.LostHits;
import io.pointsman.engine.prefix.PrefixIndex;
import io.pointsman.engine.shadow.ShadowReport;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.SplitListener;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToLongBiFunction;
import java.util.function.ToLongFunction;

/**
 * All metrics of one router. Listens to the engine and to the data plane; what can be read instead
 * of counted is read when it is scraped.
 */
public final class RouterMetrics {
  /** Models with a label of their own; requests for further ones count as {@code other}. */
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

  /**
   * @param policies the configured name of the policy for each role, used as a label
   * @param maxWorkers the fleet's largest number of workers
   * @param version the program's version
   */
  public RouterMetrics(
      Fleet fleet, Function<Role, String> policies, int maxWorkers, Ticker ticker, String version) {
    this.fleet = fleet;
    this.policies = policies;
    tallies = new WorkerTallies(maxWorkers);
    engine = new EngineMetrics(meters, policies, tallies);
    models = new ModelLabels(MOST_MODELS);
    fleet.listen(snapshot -> models.add(snapshot.modelNames()));
    proxy = new ProxyMetrics(meters, models);
    split = new SplitMetrics(meters);
    new FleetMetrics(fleet, tallies, ticker).register(meters);
    ProcessMetrics.register(meters, version);
  }

  /**
   * Counts whole requests for these models under the names of their own policies, and requests for
   * them by name even before a worker serves them.
   *
   * @param names configured names by model
   */
  public void policiesOfModels(Map<String, String> names) {
    engine.policiesOfModels(names);
    models.add(names.keySet());
  }

  /** What counts the engine's decisions. */
  public EngineListener engineListener() {
    return engine;
  }

  /** What counts the data plane's requests. */
  public ProxyListener proxyListener() {
    return proxy;
  }

  /** What counts requests that two workers may serve. */
  public SplitListener splitListener() {
    return split;
  }

  /**
   * Reads the number of clients that are connected. Call once.
   *
   * @param limit how many may be; 0 for as many as come
   */
  public RouterMetrics clients(LongSupplier connected, long limit) {
    meters.pulled(RequestMetric.CLIENT_CONNECTIONS_LIMIT, sink -> sink.put(limit));
    meters.pulled(RequestMetric.CLIENT_CONNECTIONS, sink -> sink.put(connected.getAsLong()));
    return this;
  }

  /** Reads the number of requests that wait for admission. Call once. */
  public RouterMetrics queue(LongSupplier length) {
    meters.pulled(RequestMetric.QUEUE_LENGTH, sink -> sink.put(length.getAsLong()));
    return this;
  }

  /** Reads the number of requests that are held back because every worker is full. Call once. */
  public RouterMetrics heldBack(LongSupplier held) {
    meters.pulled(RequestMetric.HELD_BACK, sink -> sink.put(held.getAsLong()));
    return this;
  }

  /** Reads what is kept of requests' bodies. Call once. */
  public RouterMetrics bodies(BodyBudget bodies) {
    meters.pulled(RequestMetric.BUFFERED_BYTES, sink -> sink.put(bodies.taken()));
    meters.pulled(RequestMetric.BUFFERS_REFUSED, sink -> sink.put(bodies.refused()));
    return this;
  }

  /** Reads the number of requests that wait for prefill or decode workers. Call once. */
  public RouterMetrics splitWaiting(IntSupplier waiting) {
    meters.pulled(RequestMetric.SPLIT_WAITING, sink -> sink.put(waiting.getAsInt()));
    return this;
  }

  /** Reads prefix indexes as one: memory, bound, blocks and those forgotten. Call once. */
  public RouterMetrics prefixIndex(List<PrefixIndex> all) {
    List<PrefixIndex> indexes = List.copyOf(all);
    summed(DecisionMetric.PREFIX_INDEX_BYTES, indexes, PrefixIndex::bytes);
    summed(DecisionMetric.PREFIX_INDEX_MAX_BYTES, indexes, PrefixIndex::maxBytes);
    summed(DecisionMetric.PREFIX_INDEX_BLOCKS, indexes, PrefixIndex::entries);
    summed(DecisionMetric.PREFIX_INDEX_EVICTIONS, indexes, PrefixIndex::evictions);
    return this;
  }

  /** Reads which policies have fallen back to least load, and how often they have. Call once. */
  public RouterMetrics fallbacks(List<Insight> all) {
    List<Insight> insights = List.copyOf(all);
    summed(DecisionMetric.COST_FALLBACK, insights, i -> i.fallback().active() ? 1 : 0);
    summed(DecisionMetric.COST_FALLBACKS, insights, i -> i.fallback().activations());
    return this;
  }

  /** Reads what models of caches take, and what they may take. Call once. */
  public RouterMetrics cacheModels(List<Insight> all) {
    List<Insight> insights = List.copyOf(all);
    summed(DecisionMetric.COST_CACHE_BYTES, insights, insight -> insight.memory().bytes());
    summed(DecisionMetric.COST_CACHE_MAX_BYTES, insights, insight -> insight.memory().maxBytes());
    return this;
  }

  private <T> void summed(Metric metric, List<T> all, ToLongFunction<T> value) {
    meters.pulled(metric, sink -> sink.put(all.stream().mapToLong(value).sum()));
  }

  /**
   * What measures predictions against what comes, to be told as a learner of policies that predict.
   * Call once.
   */
  public AnswerLearner predictions() {
    return new PredictionMetrics(meters);
  }

  /** Reads what was expected in caches, what was found, and why the rest was not. Call once. */
  public RouterMetrics lostHits(List<LostHits> all) {
    List<LostHits> sums = List.copyOf(all);
    meters.pulled(
        DecisionMetric.PROMPT_TOKENS,
        sink -> {
          sink.put(sums.stream().mapToLong(LostHits::promptTokens).sum(), "prompt");
          sink.put(sums.stream().mapToLong(LostHits::expectedTokens).sum(), "expected");
          sink.put(sums.stream().mapToLong(LostHits::cachedTokens).sum(), "cached");
        });
    perReason(DecisionMetric.LOST_HITS, sums, LostHits::hits);
    perReason(DecisionMetric.LOST_HIT_TOKENS, sums, LostHits::tokens);
    return this;
  }

  private void perReason(
      Metric metric, List<LostHits> sums, ToLongBiFunction<LostHits, LostHit> value) {
    meters.pulled(
        metric,
        sink -> {
          for (LostHit reason : LostHit.values()) {
            long sum = sums.stream().mapToLong(each -> value.applyAsLong(each, reason)).sum();
            sink.put(sum, EngineMetrics.label(reason));
          }
        });
  }

  /** Reads what came of engines' announcements. Call once. */
  public RouterMetrics kvEvents(KvEvents events, KvEventTally tally) {
    new KvEventMetrics(events, tally).register(meters);
    return this;
  }

  /** Reads what became of questions for token ids, and what they were good for. Call once. */
  public RouterMetrics kvTokens(TokenTally tally, KnownTexts texts) {
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
          sink.put(texts.wholes(), "whole");
          sink.put(texts.parts(), "part");
          sink.put(texts.unknown(), "unknown");
        });
    meters.pulled(KvMetric.KV_TEXTS_BYTES, sink -> sink.put(texts.bytes()));
    meters.pulled(KvMetric.KV_TEXTS_MAX_BYTES, sink -> sink.put(texts.maxBytes()));
    return this;
  }

  /** Reads what a shadow policy would have done. Call once. */
  public RouterMetrics shadow(Supplier<ShadowReport> report) {
    ShadowMetrics.register(meters, report);
    return this;
  }

  /** Reads the number of sticky sessions. Call once. */
  public RouterMetrics sessions(LongSupplier count) {
    meters.pulled(FleetMetric.SESSIONS, sink -> sink.put(count.getAsLong()));
    return this;
  }

  /** Reads what is known of caches by announcements, and what it was good for. Call once. */
  public RouterMetrics kvIndex(KvIndex index) {
    meters.pulled(KvMetric.KV_INDEX_BYTES, sink -> sink.put(index.bytes()));
    meters.pulled(KvMetric.KV_INDEX_MAX_BYTES, sink -> sink.put(index.maxBytes()));
    meters.pulled(KvMetric.KV_INDEX_BLOCKS, sink -> sink.put(index.blocks()));
    meters.pulled(KvMetric.KV_INDEX_REFUSED, sink -> sink.put(index.refused()));
    meters.pulled(
        KvMetric.KV_LOOKUPS,
        sink -> {
          for (KvTally.Outcome outcome : KvTally.Outcome.values()) {
            sink.put(index.tally().counted(outcome), EngineMetrics.label(outcome));
          }
        });
    return this;
  }

  /** Reads what is held for other planes, and what became of it. Call once. */
  public RouterMetrics heldLeases(Choices choices) {
    HoldTally tally = choices.tally();
    meters.pulled(FleetMetric.HELD_LEASES, sink -> sink.put(choices.open()));
    meters.pulled(
        FleetMetric.HELD_LEASES_ENDED,
        sink -> {
          sink.put(tally.succeeded(), "succeeded");
          sink.put(tally.failed(), "failed");
          sink.put(tally.ignored(), "ignored");
          sink.put(tally.expired(), "expired");
        });
    meters.pulled(FleetMetric.HELD_LEASES_REFUSED, sink -> sink.put(tally.refused()));
    meters.pulled(
        FleetMetric.REPORTED_TOKENS,
        sink -> {
          sink.put(tally.promptTokens(), "prompt");
          sink.put(tally.cachedTokens(), "cached");
          sink.put(tally.completionTokens(), "completion");
        });
    return this;
  }

  /** Reads what became of requests that were to be written down. Call once. */
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

  /** Reads what became of the spans of traced requests. Call once. */
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
   * Offers what vllm-router calls by other names under those names too. Call once.
   *
   * @param keepsSessions whether sessions stay with their workers
   */
  public RouterMetrics withVllmRouterNames(boolean keepsSessions) {
    new VllmRouterMetrics(fleet, policies, engine, tallies, proxy, keepsSessions)
        .register(registry);
    return this;
  }

  /**
   * Offers what the router of the vLLM production stack calls by other names under those names too.
   * Call once.
   */
  public RouterMetrics withProductionStackNames() {
    new StackMetrics(fleet, proxy).register(registry);
    return this;
  }

  /** Adds {@code GET /metrics} to what the router answers on the port of the clients. */
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
