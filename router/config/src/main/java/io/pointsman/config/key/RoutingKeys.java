package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bytes;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.modelPolicies;
import static io.pointsman.config.value.ValueTypes.nameOrClass;
import static io.pointsman.config.value.ValueTypes.text;
import static io.pointsman.config.value.ValueTypes.texts;

import io.pointsman.config.value.AliasType;
import io.pointsman.config.value.ModelPolicy;
import io.pointsman.config.value.ValueType;
import io.pointsman.config.value.ValueTypes;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.PrioritySettings;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.catalog.Policies;
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
  private static final PolicySettings POLICIES = PolicySettings.DEFAULTS;
  private static final CacheAwareSettings CACHE = CacheAwareSettings.DEFAULTS;
  private static final PrioritySettings PRIORITY = PrioritySettings.DEFAULTS;
  private static final int MOST_PRIORITY = 1_000_000_000;
  private static final CostSettings COST = CostSettings.DEFAULTS;

  public static final Key<List<WorkerSpec>> WORKERS =
      Key.of(
          "workers",
          ValueTypes.workers(),
          List.of(),
          "Engines that serve requests.",
          "The list can be empty; you can add workers while the router runs.");

  /** The name for no shadow policy. */
  public static final String NO_SHADOW = "none";

  public static final Key<String> POLICY =
      Key.of(
          "policy",
          nameOrClass(Policies.names(), "Policy"),
          "cost",
          "Policy that chooses one of the workers that can serve the request.",
          "See docs/policies.md for each policy.");

  public static final Key<String> SHADOW_POLICY =
      Key.of(
          "shadow-policy",
          nameOrClass(
              Stream.concat(Stream.of(NO_SHADOW), Policies.names().stream()).toList(), "Policy"),
          NO_SHADOW,
          "Second policy that decides on every request without effect. The metrics"
              + " `pointsman_shadow_*` and `GET /shadow` show its decisions.",
          "`none`: no second policy. A second policy uses about as much CPU time as the policy"
              + " `cost`, on its own thread. It uses up to twice `cost.max-bytes` of memory, at"
              + " most 64 MiB.");

  public static final Key<String> PLUGIN_DIRECTORY =
      Key.of(
          "plugins.directory",
          text("<dir>", "a directory", true),
          "",
          "Directory with jars of your own policies. Set `policy` to the name of the class.",
          "Empty: only the class path is searched. Code in this directory runs with all rights of"
              + " the router.");

  public static final Key<Double> CACHE_THRESHOLD =
      Key.of(
          "cache.threshold",
          decimal(0, 1),
          CACHE.cacheThreshold(),
          "cache_aware: share of the prompt that a worker must have cached for the match to count.",
          "The cached share must be larger than this value. `0`: any match counts; `1`: none"
              + " does.");

  public static final Key<Integer> MIN_MATCH_LENGTH =
      Key.of(
          "cache.min-match-length",
          integer(0, Integer.MAX_VALUE),
          CACHE.minMatchLength(),
          "cache_aware: least length of a cached prefix that counts, in bytes of text. A token id"
              + " counts as 4 bytes. `cache.threshold` must be exceeded too.",
          "`0`: only `cache.threshold` decides. With a high value, requests are routed by load.");

  public static final Key<Long> INDEX_MAX_BYTES =
      Key.of(
          "cache.index-max-bytes",
          bytes(1L << 16, 1L << 36),
          CACHE.maxIndexBytes(),
          "Memory for the index of prompt prefixes. `cache_aware` keeps all prefixes that it has"
              + " placed, `kv_aware` only the recent ones.",
          "With a low value, prompts are soon forgotten and routed by load. With a high value,"
              + " prompts are remembered longer than the engines keep them.");

  public static final Key<Integer> BALANCE_ABS =
      Key.of(
          "balance.abs-threshold",
          integer(0, Integer.MAX_VALUE),
          CACHE.balanceAbsThreshold(),
          "cache_aware: loads are unequal if the largest exceeds the smallest by more than this"
              + " number of requests. `balance.rel-threshold` must be exceeded too. With unequal"
              + " loads, requests go to the least loaded worker.",
          "`0`: only `balance.rel-threshold` decides. With a high value, requests follow cached"
              + " prefixes, but an idle worker still relieves a worker with 6 requests.");

  public static final Key<Double> BALANCE_REL =
      Key.of(
          "balance.rel-threshold",
          decimal(1, Double.MAX_VALUE),
          CACHE.balanceRelThreshold(),
          "cache_aware: loads are unequal if the largest is more than this many times the smallest."
              + " `balance.abs-threshold` must be exceeded too.",
          "`1`: only `balance.abs-threshold` decides. With a high value, requests follow cached"
              + " prefixes, but an idle worker still relieves a worker with 6 requests.");

  public static final Key<Integer> COST_KV_TOKENS =
      Key.of(
          "cost.kv-tokens",
          integer(1024, 1 << 30),
          COST.kvTokens(),
          "cost: KV cache size of an engine, in tokens, for engines that do not report it.",
          "If the value is too high, the policy expects hits on evicted blocks, until reported"
              + " cached tokens correct it. If it is too low, the policy misses hits and predicts"
              + " waits for memory that is free.");

  public static final Key<Integer> COST_STEP_TOKENS =
      Key.of(
          "cost.step-tokens",
          integer(1, 1 << 24),
          COST.stepTokens(),
          "cost: maximum number of prompt tokens in one engine step. Set it to the engine's own"
              + " limit.",
          "It decides how many prompts share a step, how long a prompt takes, and when a worker is"
              + " full (`queue.defer-beyond`). A wrong value makes predictions wrong.");

  public static final Key<Double> COST_PRICE_FLOOR =
      Key.of(
          "cost.price-floor",
          decimal(0, 1000),
          COST.priceFloor(),
          "cost: lowest price of new work, as a multiple of its own prefill time. It accounts for"
              + " requests that come later.",
          "`0`: equal prompts spread over idle workers. A high value keeps them on one worker, and"
              + " they wait.");

  public static final Key<Double> COST_TIE_MILLIS =
      Key.of(
          "cost.tie-millis",
          decimal(0, 60_000),
          COST.tieMillis(),
          "cost: treat predicted costs within this many milliseconds of the lowest as equal. Among"
              + " these workers, the one with the fewest requests in flight is chosen.",
          "`0`: the policy follows the noise of its predictions. A high value ignores small hits.");

  public static final Key<Long> COST_MAX_BYTES =
      Key.of(
          "cost.max-bytes",
          bytes(2L << 20, 1L << 36),
          COST.maxBytes(),
          "cost: memory for the estimated content of all workers' caches, used as needed.",
          "With a low value, the policy forgets prompts before the engines do.");

  public static final Key<Integer> VIRTUAL_NODES =
      Key.of(
          "hash.virtual-nodes",
          integer(1, 10_000),
          POLICIES.virtualNodes(),
          "consistent_hash: points of each worker on the hash ring.",
          "Few points make the workers' shares uneven. Each point costs 8 bytes, and time when the"
              + " fleet changes.");

  public static final Key<Double> HASH_LOAD_FACTOR =
      Key.of(
          "hash.load-factor",
          decimal(0, 1000),
          POLICIES.hashLoadFactor(),
          "consistent_hash and rendezvous_hash: maximum load of a worker, as a multiple of the mean"
              + " load. Above it, requests go to the next worker in hash order.",
          "`0`: no limit. `1.25` spreads frequent keys early; a high value has almost no effect."
              + " Values between 0 and 1 are refused.");

  public static final Key<Integer> RAY_VIRTUAL_NODES =
      Key.of(
          "ray-ring.virtual-nodes",
          integer(1, 10_000),
          POLICIES.rayRing().virtualNodes(),
          "ray_consistent_hash: points of each worker on the hash ring.",
          "Set the same value as in Ray Serve routers of the same fleet. Few points make the"
              + " workers' shares uneven.");

  public static final Key<Integer> RAY_FALLBACK_WORKERS =
      Key.of(
          "ray-ring.fallback-workers",
          integer(0, 1000),
          POLICIES.rayRing().fallbackWorkers(),
          "ray_consistent_hash: number of workers to try, in ring order, if the session's own"
              + " worker cannot serve the request.",
          "If none of them can, the least loaded worker serves. `0`: the least loaded worker serves"
              + " at once.");

  public static final Key<SessionAffinity.Mode> SESSION_AFFINITY =
      Key.of(
          "session-affinity",
          constant(SessionAffinity.Mode.class),
          POLICIES.affinity(),
          "Keep a session on the worker of its first request, with any policy. See"
              + " docs/session-affinity.md for how the router finds the session id.",
          "`hard`: the session stays at any load. `soft`: it moves if its worker already has its"
              + " fair share of the requests in flight. With prefill and decode workers, it applies"
              + " to decode.");

  public static final Key<Duration> STICKY_IDLE =
      Key.of(
          "sticky.idle-timeout",
          duration(Duration.ofSeconds(1), Duration.ofDays(365)),
          POLICIES.sessionTtl(),
          "sticky_least_loaded and session-affinity: end a session this long after its last request"
              + " has ended.",
          "A low value loses cached prefixes between turns. A high value binds workers to finished"
              + " sessions.");

  public static final Key<Integer> STICKY_MAX =
      Key.of(
          "sticky.max-sessions",
          integer(1, 10_000_000),
          POLICIES.maxSessions(),
          "sticky_least_loaded and session-affinity: maximum number of sessions. Beyond it, the"
              + " session that is idle for longest is removed.",
          "A low value removes live sessions. Each session costs about 200 bytes.");

  public static final Key<List<String>> EXPECTED_MODELS =
      Key.of(
          "expected-models",
          texts("<name>", "names of models"),
          List.of(),
          "Models that can have no worker for a time, for example because they are scaled to zero."
              + " A request for one of them, or for its adapter `model:adapter`, then gets 503 with"
              + " `Retry-After` instead of 404, or is deferred (`queue.defer-without-worker`)."
              + " Metrics count it under the model's name. Models with their own policy or queue,"
              + " and models of configured workers, are always expected.",
          "If a name is missing, clients get 404 after a restart of the router while the model has"
              + " no worker.");

  public static final Key<Map<String, String>> MODEL_ALIASES =
      Key.of(
          "model-aliases",
          new AliasType(),
          Map.of(),
          "Further names of models: a group of `alias: model`. The router replaces the name in the"
              + " JSON body, and in the query of `/v1/realtime`; the response has the engine's"
              + " name. `GET /v1/models` lists both if `models.merged` is on.",
          "An alias hides a model of the same name. Forms, and bodies that a client compresses,"
              + " keep their name: there an alias is an unknown model. So do requests that another"
              + " proxy forwards.");

  public static final Key<String> PRIORITY_HEADER =
      Key.of(
          "priority.header",
          text("<name>", "the name of a header", false),
          PRIORITY.header(),
          "priority: header with the priority of a request; precedes `priority.field`.",
          "A lower number is more important.");

  public static final Key<String> PRIORITY_FIELD =
      Key.of(
          "priority.field",
          text("<name>", "the name of a member", false),
          PRIORITY.field(),
          "priority: member of the JSON body with the priority of a request.",
          "The engine gets the priority of the header in its own member `priority`.");

  public static final Key<Integer> PRIORITY_DEFAULT =
      Key.of(
          "priority.default",
          integer(-MOST_PRIORITY, MOST_PRIORITY),
          PRIORITY.standard(),
          "priority: priority of requests without one.",
          "If it is below `priority.threshold`, requests without a priority are important.");

  public static final Key<Integer> PRIORITY_THRESHOLD =
      Key.of(
          "priority.threshold",
          integer(-MOST_PRIORITY, MOST_PRIORITY),
          PRIORITY.threshold(),
          "priority: requests with a priority below this go to the least loaded worker, all others"
              + " to the workers in turn.",
          "With a high value, all requests go to the least loaded worker.");

  public static final Key<UnknownModel> UNKNOWN_MODEL =
      Key.of(
          "unknown-model",
          constant(UnknownModel.class),
          EngineSettings.DEFAULTS.unknownModel(),
          "Action if no worker is known to serve the requested model. A healthy worker that lists"
              + " no models counts as serving every model.",
          "`reject`: answer 404 in OpenAI's format. The answer is 503 while a new worker may still"
              + " serve the model, and for 24 hours after its last worker left. `any-worker`: send"
              + " the request to any worker. If workers serve different models and the request"
              + " names none, only this mode accepts it; the other modes answer 400. `base-model`:"
              + " send `base:adapter` to workers that serve `base`; handle other models as in"
              + " `reject`.");

  private static final List<Key<?>> OF_A_MODEL =
      List.of(
          POLICY,
          CACHE_THRESHOLD,
          MIN_MATCH_LENGTH,
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
          "Policies for single models: a list of groups with `model`, `policy` and keys of that"
              + " policy. Keys that are not set have the values for all models.",
          "A model's policy also serves its adapters. It does not apply to requests that a prefill"
              + " and a decode worker serve together. Each `cache_aware`, `cost` or"
              + " `sticky_least_loaded` in the list uses memory of its own.");

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
        MIN_MATCH_LENGTH,
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
        PRIORITY_HEADER,
        PRIORITY_FIELD,
        PRIORITY_DEFAULT,
        PRIORITY_THRESHOLD,
        SESSION_AFFINITY,
        STICKY_IDLE,
        STICKY_MAX,
        MODEL_ALIASES,
        UNKNOWN_MODEL,
        EXPECTED_MODELS);
  }
}
