package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bytes;
import static io.pointsman.app.config.value.ValueTypes.constant;
import static io.pointsman.app.config.value.ValueTypes.decimal;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.integer;
import static io.pointsman.app.config.value.ValueTypes.modelPolicies;
import static io.pointsman.app.config.value.ValueTypes.nameOrClass;
import static io.pointsman.app.config.value.ValueTypes.text;

import io.pointsman.app.config.value.ModelPolicy;
import io.pointsman.app.config.value.ValueType;
import io.pointsman.app.config.value.ValueTypes;
import io.pointsman.app.explain.ShadowApi;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.session.SessionAffinity;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Keys of routing: workers, policies and their parameters. */
public final class RoutingKeys {
  static final List<String> NAMES =
      List.of(
          "cache_aware",
          "consistent_hash",
          "cost",
          "kv_aware",
          "least_load",
          "md5_ring",
          "power_of_two",
          "random",
          "ray_consistent_hash",
          "rendezvous_hash",
          "round_robin",
          "sticky_least_loaded");

  private static final PolicySettings POLICIES = PolicySettings.DEFAULTS;
  private static final CacheAwareSettings CACHE = CacheAwareSettings.DEFAULTS;
  private static final CostSettings COST = CostSettings.DEFAULTS;

  public static final Key<List<WorkerSpec>> WORKERS =
      Key.of(
          "workers",
          ValueTypes.workers(),
          List.of(),
          "The engines behind the router.",
          "May be empty: workers can be added while the router runs.");

  public static final Key<String> POLICY =
      Key.of(
          "policy",
          nameOrClass(NAMES, "Policy"),
          "cost",
          "How a worker is chosen among those that can serve the request.",
          "docs/policies.md says what each policy does.");

  public static final Key<String> SHADOW_POLICY =
      Key.of(
          "shadow-policy",
          nameOrClass(Stream.concat(Stream.of(ShadowApi.NONE), NAMES.stream()).toList(), "Policy"),
          ShadowApi.NONE,
          "A second policy that decides on all requests without effect: metrics pointsman_shadow_*"
              + " and GET /shadow tell what it would have done.",
          "none is off; else it takes about as much processor time as policy cost on a thread of"
              + " its own, and up to twice cost.max-bytes, at most 64 MiB.");

  public static final Key<String> PLUGIN_DIRECTORY =
      Key.of(
          "plugins.directory",
          text("<dir>", "a directory", true),
          "",
          "Directory whose jars hold policies of your own; policy then names the class.",
          "Empty looks on the class path alone. What lies there is run with all rights of the"
              + " router.");

  public static final Key<Double> CACHE_THRESHOLD =
      Key.of(
          "cache.threshold",
          decimal(0, 1),
          CACHE.cacheThreshold(),
          "cache_aware: share of the prompt that a worker must hold for the match to count.",
          "The share must be larger than this: 0 follows any match, 1 none.");

  public static final Key<Long> INDEX_MAX_BYTES =
      Key.of(
          "cache.index-max-bytes",
          bytes(1L << 16, 1L << 36),
          CACHE.maxIndexBytes(),
          "cache_aware: memory of the index of prompt prefixes; kv_aware: of what was placed a"
              + " moment ago.",
          "Small forgets prompts early and routes them by load; large keeps them for longer than"
              + " the engines do.");

  public static final Key<Integer> BALANCE_ABS =
      Key.of(
          "balance.abs-threshold",
          integer(0, Integer.MAX_VALUE),
          CACHE.balanceAbsThreshold(),
          "cache_aware: loads count as unequal when the largest exceeds the smallest by more than"
              + " this many requests and balance.rel-threshold holds too.",
          "0 leaves it to balance.rel-threshold; large follows prefixes whatever the load.");

  public static final Key<Double> BALANCE_REL =
      Key.of(
          "balance.rel-threshold",
          decimal(1, Double.MAX_VALUE),
          CACHE.balanceRelThreshold(),
          "cache_aware: loads count as unequal when the largest is more than this many times the"
              + " smallest and balance.abs-threshold holds too.",
          "1 leaves it to balance.abs-threshold; large follows prefixes whatever the load.");

  public static final Key<Integer> COST_KV_TOKENS =
      Key.of(
          "cost.kv-tokens",
          integer(1024, 1 << 30),
          COST.kvTokens(),
          "cost: KV memory in tokens of each engine that does not report its size.",
          "A high value expects hits that the engine has evicted, until reported cached tokens"
              + " correct it. A low value misses hits and predicts waits for memory that is free.");

  public static final Key<Integer> COST_STEP_TOKENS =
      Key.of(
          "cost.step-tokens",
          integer(1, 1 << 24),
          COST.stepTokens(),
          "cost: limit of prompt tokens in one step of an engine; use the engine's own limit.",
          "It decides how many prompts share a step, how long a prompt takes, and when a worker is"
              + " full (limits.hold-beyond). A wrong value makes predictions wrong.");

  public static final Key<Double> COST_PRICE_FLOOR =
      Key.of(
          "cost.price-floor",
          decimal(0, 1000),
          COST.priceFloor(),
          "cost: lowest price of new work, as a multiple of its own prefill time. It stands for"
              + " requests that come later.",
          "0 spreads equal prompts over idle workers. A high value keeps them together, and they"
              + " wait.");

  public static final Key<Double> COST_TIE_MILLIS =
      Key.of(
          "cost.tie-millis",
          decimal(0, 60_000),
          COST.tieMillis(),
          "cost: treat predicted costs within this many milliseconds of the lowest as equal. Of"
              + " these workers, the one with the fewest requests in flight serves.",
          "0 follows the noise of predictions. A high value ignores small hits.");

  public static final Key<Long> COST_MAX_BYTES =
      Key.of(
          "cost.max-bytes",
          bytes(2L << 20, 1L << 36),
          COST.maxBytes(),
          "cost: memory for the models of all workers' caches.",
          "A low value forgets prompts before the engines do. Memory is taken only as needed.");

  public static final Key<Integer> VIRTUAL_NODES =
      Key.of(
          "hash.virtual-nodes",
          integer(1, 10_000),
          POLICIES.virtualNodes(),
          "consistent_hash: places of each worker on the ring.",
          "Few make shares uneven; each costs 8 bytes and time when the fleet changes.");

  public static final Key<Double> HASH_LOAD_FACTOR =
      Key.of(
          "hash.load-factor",
          decimal(0, 1000),
          POLICIES.hashLoadFactor(),
          "consistent_hash and rendezvous_hash: bounded load; a worker at this many times the mean"
              + " load passes requests on to the next place.",
          "0 is off; 1.25 spreads hot keys early; large is as good as off. Between 0 and 1 is"
              + " refused.");

  public static final Key<Integer> RAY_VIRTUAL_NODES =
      Key.of(
          "ray-ring.virtual-nodes",
          integer(1, 10_000),
          POLICIES.rayRing().virtualNodes(),
          "ray_consistent_hash: points of each worker on the ring.",
          "Must be that of the routers of Ray Serve that share the fleet; few make shares uneven.");

  public static final Key<Integer> RAY_FALLBACK_WORKERS =
      Key.of(
          "ray-ring.fallback-workers",
          integer(0, 1000),
          POLICIES.rayRing().fallbackWorkers(),
          "ray_consistent_hash: workers behind a session's own that are asked when it cannot"
              + " serve.",
          "Beyond them the least loaded worker serves; 0 asks nobody else first.");

  public static final Key<SessionAffinity.Mode> SESSION_AFFINITY =
      Key.of(
          "session-affinity",
          constant(SessionAffinity.Mode.class),
          POLICIES.affinity(),
          "Whether a session stays with the worker that its first request went to, whatever the"
              + " policy; docs/session-affinity.md says how sessions are told.",
          "hard keeps it there whatever the load; soft moves it once its worker has its fair share"
              + " of requests in flight. Of prefill and decode it concerns decode.");

  public static final Key<Duration> STICKY_IDLE =
      Key.of(
          "sticky.idle-timeout",
          duration(Duration.ofSeconds(1), Duration.ofDays(365)),
          POLICIES.sessionTtl(),
          "sticky_least_loaded and session-affinity: a session ends this long after the end of its"
              + " last request.",
          "Short loses caches between turns; long keeps workers bound to finished sessions.");

  public static final Key<Integer> STICKY_MAX =
      Key.of(
          "sticky.max-sessions",
          integer(1, 10_000_000),
          POLICIES.maxSessions(),
          "sticky_least_loaded and session-affinity: most sessions kept; beyond, the longest idle"
              + " one is forgotten.",
          "Small forgets live sessions; each costs about 200 bytes.");

  public static final Key<UnknownModel> UNKNOWN_MODEL =
      Key.of(
          "unknown-model",
          constant(UnknownModel.class),
          EngineSettings.DEFAULTS.unknownModel(),
          "What to do with a request for a model that no worker is known to serve. A worker that is"
              + " well but does not tell its models is taken to serve any.",
          "reject answers 404 in OpenAI's shape, or 503 while a new worker may still turn out to"
              + " serve it, and for 24 hours behind the last one that left; any-worker lets an"
              + " engine answer, also where workers serve different models and the request names"
              + " none, which is 400 otherwise; base-model places base:adapter where base is"
              + " served, and rejects the rest.");

  private static final List<Key<?>> OF_A_MODEL =
      List.of(
          POLICY,
          CACHE_THRESHOLD,
          INDEX_MAX_BYTES,
          BALANCE_ABS,
          BALANCE_REL,
          COST_KV_TOKENS,
          COST_STEP_TOKENS,
          COST_PRICE_FLOOR,
          COST_TIE_MILLIS,
          COST_MAX_BYTES,
          VIRTUAL_NODES,
          HASH_LOAD_FACTOR,
          RAY_VIRTUAL_NODES,
          RAY_FALLBACK_WORKERS,
          STICKY_IDLE,
          STICKY_MAX);

  public static final Key<List<ModelPolicy>> MODEL_POLICIES =
      Key.of(
          "model-policies",
          modelPolicies(types(OF_A_MODEL)),
          List.of(),
          "Policies of models that have their own, each with a memory of its own: a list of groups"
              + " with model, policy and any of the policy's keys; what is not said is as for all"
              + " models.",
          "For whole requests, and for adapters of these models. Each cache_aware, cost or"
              + " sticky_least_loaded among them takes its own memory.");

  private static Map<String, ValueType<?>> types(List<Key<?>> keys) {
    Map<String, ValueType<?>> types = new TreeMap<>();
    keys.forEach(key -> types.put(key.path(), key.type()));
    return types;
  }

  private RoutingKeys() {}

  /** Keys that can be set for a single model. */
  public static List<Key<?>> ofAModel() {
    return OF_A_MODEL;
  }

  static List<Key<?>> all() {
    return List.of(
        WORKERS,
        POLICY,
        MODEL_POLICIES,
        SHADOW_POLICY,
        PLUGIN_DIRECTORY,
        CACHE_THRESHOLD,
        INDEX_MAX_BYTES,
        BALANCE_ABS,
        BALANCE_REL,
        COST_KV_TOKENS,
        COST_STEP_TOKENS,
        COST_PRICE_FLOOR,
        COST_TIE_MILLIS,
        COST_MAX_BYTES,
        VIRTUAL_NODES,
        HASH_LOAD_FACTOR,
        RAY_VIRTUAL_NODES,
        RAY_FALLBACK_WORKERS,
        SESSION_AFFINITY,
        STICKY_IDLE,
        STICKY_MAX,
        UNKNOWN_MODEL);
  }
}
