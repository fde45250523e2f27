package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.durationOrOff;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.integers;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.config.settings.AdminSettings;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.engine.fleet.BreakerSettings;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.HealthSettings;
import io.pointsman.engine.fleet.StallSettings;
import java.time.Duration;
import java.util.List;

/** Keys of worker supervision: probes, breaker, stalls. */
public final class FleetKeys {
  private static final Duration MILLI = Duration.ofMillis(1);
  private static final Duration DAY = Duration.ofHours(24);

  public static final Key<Integer> MAX_WORKERS =
      Key.of(
          "max-workers",
          integer(1, 65_536),
          FleetSettings.DEFAULTS.maxWorkers(),
          "Maximum number of workers. A running router takes a lower value if it has no more"
              + " workers. It takes a higher one up to 16,384 without a restart, or up to its"
              + " value at the start.",
          "Above 16,384, each possible worker costs about 150 bytes, even if unused.");

  public static final Key<HealthAnswer> HEALTH_ANSWER =
      Key.of(
          "health.answer",
          constant(HealthAnswer.class),
          AdminSettings.DEFAULTS.healthAnswer(),
          "Meaning of the router's own `GET /health` on the port of clients. `live`: 200 while the"
              + " process runs. `ready`: 200 while at least one model can be served, as `/readyz`."
              + " `all`: 503 while any worker is unhealthy or the router stops, as vllm-router.",
          "With `all`, a liveness probe on this path restarts the router if one engine is down."
              + " With `ready`, it does so if all engines are down. `/livez` and `/readyz` do not"
              + " depend on this key.");

  public static final Key<String> HEALTH_ENDPOINT =
      Key.of(
          "health.endpoint",
          text("<path>", "a path that starts with /", false),
          ProbeSettings.DEFAULTS.endpoint(),
          "Path of the health probe. An engine is healthy if it answers with 2xx.",
          "If an engine does not know the path, it gets no requests.");

  public static final Key<List<Integer>> HEALTH_ACCEPTED_STATUSES =
      Key.of(
          "health.accepted-statuses",
          integers("<status>", 100, 599),
          ProbeSettings.DEFAULTS.alsoGood(),
          "HTTP statuses besides 2xx that mean a healthy engine.",
          "Use 401 and 403 for engines that require a client's key. If such an engine does not list"
              + " its models either, it counts as serving every model. 5xx statuses hide"
              + " failures.");

  public static final Key<String> HEALTH_API_KEY =
      Key.of(
              "health.api-key",
              text("<key>", "a key", true),
              "",
              "Bearer token for the router's own requests to engines: probes, lists of models and"
                  + " similar ones. It replaces `api-key` and the keys of prefill and decode."
                  + " Client requests never get it.",
              "Empty: those keys are sent. An engine that refuses to list its models without a key"
                  + " counts as serving every model.")
          .secret();

  public static final Key<Duration> HEALTH_INTERVAL =
      Key.of(
          "health.interval",
          duration(Duration.ofMillis(10), DAY),
          ProbeSettings.DEFAULTS.interval(),
          "Interval between probes of a healthy worker.",
          "A low value costs the engines requests. With a high value, the router detects hung"
              + " engines late. It detects refused connections at once in any case.");

  public static final Key<Duration> HEALTH_TIMEOUT =
      Key.of(
          "health.timeout",
          duration(MILLI, DAY),
          ProbeSettings.DEFAULTS.timeout(),
          "Maximum duration of a probe. If the worker sends a part of any response in the meantime,"
              + " the probe counts as good.",
          "With a low value, busy engines count as dead. With a high value, the router detects hung"
              + " engines late.");

  public static final Key<Duration> HEALTH_FIRST_RETRY =
      Key.of(
          "health.first-retry",
          duration(MILLI, DAY),
          ProbeSettings.DEFAULTS.firstRetry(),
          "Time from a failed probe to the next one. It doubles with each further failure.",
          "A low value costs probes of dead hosts. With a high value, a restarted engine gets"
              + " requests late.");

  public static final Key<Duration> HEALTH_MOST_RETRY =
      Key.of(
          "health.max-retry",
          duration(MILLI, DAY),
          ProbeSettings.DEFAULTS.mostRetry(),
          "Maximum interval between probes of an unhealthy worker, at least `health.first-retry`.",
          "A low value costs probes of dead hosts. With a high value, a restarted engine gets"
              + " requests late.");

  public static final Key<Integer> HEALTH_PARALLELISM =
      Key.of(
          "health.parallelism",
          integer(1, 65_536),
          ProbeSettings.DEFAULTS.parallelism(),
          "Maximum number of concurrent probes.",
          "A low value delays probes in a large fleet if many hosts hang.");

  public static final Key<Integer> HEALTH_FAILURES =
      Key.of(
          "health.failure-threshold",
          integer(1, 1000),
          HealthSettings.DEFAULTS.failureThreshold(),
          "Number of consecutive failed probes that make a worker unhealthy.",
          "`1`: a single lost probe is enough. With a high value, a dead worker gets requests for"
              + " longer.");

  public static final Key<Integer> HEALTH_SUCCESSES =
      Key.of(
          "health.success-threshold",
          integer(1, 1000),
          HealthSettings.DEFAULTS.successThreshold(),
          "Number of consecutive good probes that make a worker healthy again. One is enough for a"
              + " new worker, and after a refused connection.",
          "A high value keeps out unstable workers, but also recovered ones.");

  public static final Key<Duration> MODELS_INTERVAL =
      Key.of(
          "health.models-interval",
          durationOrOff(Duration.ofSeconds(1), DAY),
          ProbeSettings.DEFAULTS.modelsInterval(),
          "Interval between requests for `/v1/models` to workers without configured models.",
          "With a high value, the router finds newly loaded adapters late. `off`: it asks once,"
              + " after the first good probe.");

  public static final Key<Boolean> MODELS_MERGED =
      Key.of(
          "models.merged",
          bool(),
          AdminSettings.DEFAULTS.mergedModels(),
          "Answer `GET /v1/models` with the models of all workers.",
          "`false`: send the request to one worker with the client's headers, for servers with a"
              + " different list for each key.");

  public static final Key<Boolean> BREAKER_ENABLED =
      Key.of(
          "breaker.enabled",
          bool(),
          BreakerSettings.DEFAULTS.enabled(),
          "Stop sending requests for some time to a worker that fails requests.",
          "`false`: a worker gets requests while its probes succeed.");

  public static final Key<Integer> BREAKER_FAILURES =
      Key.of(
          "breaker.failure-threshold",
          integer(1, 1_000_000),
          BreakerSettings.DEFAULTS.failureThreshold(),
          "Number of consecutive failures that open the breaker. A refused connection counts as"
              + " half of this number.",
          "`1`: any failure opens it. With a high value, it never opens.");

  public static final Key<Integer> BREAKER_SUCCESSES =
      Key.of(
          "breaker.success-threshold",
          integer(1, 1_000_000),
          BreakerSettings.DEFAULTS.successThreshold(),
          "Number of consecutive trial requests that must succeed to close the breaker. A trial"
              + " succeeds when a good response begins.",
          "With a high value, a recovered worker returns slowly, because trials run one at a"
              + " time.");

  public static final Key<Duration> BREAKER_OPEN_FOR =
      Key.of(
          "breaker.open-for",
          duration(MILLI, DAY),
          BreakerSettings.DEFAULTS.openFor(),
          "Time until an open breaker lets one trial request pass. If no other worker is available,"
              + " this time is divided by 10, but is at least 5 s.",
          "A low value spends requests on a worker that still fails. A high value leaves a"
              + " recovered worker idle.");

  public static final Key<Duration> BREAKER_WINDOW =
      Key.of(
          "breaker.window",
          duration(MILLI, DAY),
          BreakerSettings.DEFAULTS.window(),
          "Maximum time between two failures that count as consecutive.",
          "A low value ignores failures of workers with little traffic.");

  public static final Key<Double> BREAKER_MAX_EJECTED =
      Key.of(
          "breaker.max-ejected-share",
          decimal(0, 1),
          BreakerSettings.DEFAULTS.maxEjectedShare(),
          "Maximum share of the workers of a model that open breakers, stalls and signs of a"
              + " shutdown exclude at the same time. At least one may be excluded, but never the"
              + " last one in service. Beyond the share, failing workers stay in service. A"
              + " model's only worker gets one trial request per second while its engine shuts"
              + " down.",
          "`0`: these exclude no worker. `1`: no limit; they can exclude all workers.");

  public static final Key<Boolean> STALL_ENABLED =
      Key.of(
          "stall.enabled",
          bool(),
          StallSettings.DEFAULTS.enabled(),
          "Stop sending requests to a worker that makes no progress: its requests in flight are"
              + " silent, or clients left without a byte. It gets one trial request at a time until"
              + " it sends output.",
          "`false`: a hung engine gets requests while its probes succeed.");

  public static final Key<Duration> STALL_PATIENCE =
      Key.of(
          "stall.patience",
          duration(MILLI, DAY),
          StallSettings.DEFAULTS.patience(),
          "Time for which all streams on a worker can be silent before the worker gets no new"
              + " requests. `stall.per-thousand-tokens` adds to it. The worker is also excluded if"
              + " four clients leave it without a byte, the first and the last at least this time"
              + " apart. For three clients that waited longer than usual, 3 s are enough.",
          "A low value excludes engines that are only slow.");

  public static final Key<Duration> STALL_PER_THOUSAND =
      Key.of(
          "stall.per-thousand-tokens",
          durationOrOff(MILLI, DAY),
          StallSettings.DEFAULTS.perThousandTokens(),
          "Additional time without progress that is allowed for every 1,000 prompt tokens without a"
              + " response.",
          "If the value is too low for the engine's prefill speed, engines that compute long"
              + " prompts are excluded.");

  public static final Key<Duration> STALL_MAX_PATIENCE =
      Key.of(
          "stall.max-patience",
          duration(MILLI, DAY),
          StallSettings.DEFAULTS.maxPatience(),
          "Maximum time without progress in total, at least `stall.patience`. If a worker has no"
              + " stream, four or more requests that are all silent for this time exclude it.",
          "With a high value, the router detects an engine late that hangs with many prompts.");

  public static final Key<Duration> SLOW_START =
      Key.of(
          "slow-start",
          durationOrOff(MILLI, DAY),
          FleetSettings.DEFAULTS.slowStart(),
          "Time in which the share of a worker rises from 10 % to its full share after it has"
              + " become healthy. A new engine captures graphs and has an empty cache. Policies"
              + " that compare loads or costs respect it. Workers that become healthy in this time"
              + " after the start of the router begin with their full share.",
          "`off`: a new worker is the least loaded one, and gets many requests at once.");

  public static final Key<Duration> ENGINE_LOAD =
      Key.of(
          "engine-load.interval",
          durationOrOff(Duration.ofMillis(100), DAY),
          Duration.ZERO,
          "Interval at which the router reads the load of each engine from its `GET /metrics`:"
              + " running and waiting requests (vLLM, SGLang, llama.cpp, TGI) and the use of KV"
              + " memory (vLLM, SGLang). Requests of other clients and routers then count as load,"
              + " and an engine with more than 90 % of its KV memory in use as one with less"
              + " capacity.",
          "`off`: the router counts its own requests only. With a low value, engines spend time on"
              + " their metrics.");

  private FleetKeys() {}

  static List<Key<?>> all() {
    return List.of(
        MAX_WORKERS,
        HEALTH_ANSWER,
        HEALTH_ENDPOINT,
        HEALTH_ACCEPTED_STATUSES,
        HEALTH_API_KEY,
        HEALTH_INTERVAL,
        HEALTH_TIMEOUT,
        HEALTH_FIRST_RETRY,
        HEALTH_MOST_RETRY,
        HEALTH_PARALLELISM,
        HEALTH_FAILURES,
        HEALTH_SUCCESSES,
        MODELS_INTERVAL,
        MODELS_MERGED,
        BREAKER_ENABLED,
        BREAKER_FAILURES,
        BREAKER_SUCCESSES,
        BREAKER_OPEN_FOR,
        BREAKER_WINDOW,
        BREAKER_MAX_EJECTED,
        STALL_ENABLED,
        STALL_PATIENCE,
        STALL_PER_THOUSAND,
        STALL_MAX_PATIENCE,
        SLOW_START,
        ENGINE_LOAD);
  }
}
