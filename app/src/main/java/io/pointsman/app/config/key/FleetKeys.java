package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bool;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.durationOrOff;
import static io.pointsman.app.config.value.ValueTypes.integer;
import static io.pointsman.app.config.value.ValueTypes.integers;
import static io.pointsman.app.config.value.ValueTypes.text;

import io.pointsman.app.admin.AdminSettings;
import io.pointsman.app.health.ProbeSettings;
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
          "Most workers at once.",
          "Each place costs a few bytes, used or not.");

  public static final Key<String> HEALTH_ENDPOINT =
      Key.of(
          "health.endpoint",
          text("<path>", "a path that starts with /", false),
          ProbeSettings.DEFAULTS.endpoint(),
          "Path that an engine answers with 2xx while it is well.",
          "A path that the engine does not know keeps every worker out.");

  public static final Key<List<Integer>> HEALTH_ALSO_GOOD =
      Key.of(
          "health.also-good",
          integers("<status>", 100, 599),
          ProbeSettings.DEFAULTS.alsoGood(),
          "Statuses beside 2xx that say that an engine is well.",
          "401 and 403 suit servers that want a client's key; one that does not list its models"
              + " either is taken to serve any. 5xx would hide failures.");

  public static final Key<String> HEALTH_API_KEY =
      Key.of(
              "health.api-key",
              text("<key>", "a key", true),
              "",
              "Sent to engines as bearer token with what the router asks of its own accord: probes,"
                  + " lists of models and the like, in place of api-key and of the keys of prefill"
                  + " and decode; never with a client's request.",
              "Empty sends those. An engine that wants a key for its list of models and gets none"
                  + " is taken to serve any.")
          .secret();

  public static final Key<Duration> HEALTH_INTERVAL =
      Key.of(
          "health.interval",
          duration(Duration.ofMillis(10), DAY),
          ProbeSettings.DEFAULTS.interval(),
          "Time between two probes of a worker that is well.",
          "Short costs the engines requests; long finds a hung engine late. Refused connections"
              + " are noticed at once either way.");

  public static final Key<Duration> HEALTH_TIMEOUT =
      Key.of(
          "health.timeout",
          duration(MILLI, DAY),
          ProbeSettings.DEFAULTS.timeout(),
          "Longest a probe may take. One that gets no answer in time does not count against a"
              + " worker that begins to answer a request meanwhile.",
          "Short takes busy engines for dead ones; long finds hung engines late.");

  public static final Key<Duration> HEALTH_FIRST_RETRY =
      Key.of(
          "health.first-retry",
          duration(MILLI, DAY),
          ProbeSettings.DEFAULTS.firstRetry(),
          "Time to the next probe after a failed one; doubles with each further one.",
          "Short costs probes of dead hosts; long keeps a restarted engine out.");

  public static final Key<Duration> HEALTH_MOST_RETRY =
      Key.of(
          "health.max-retry",
          duration(MILLI, DAY),
          ProbeSettings.DEFAULTS.mostRetry(),
          "Longest time to the next probe of a worker that is not well; at least"
              + " health.first-retry.",
          "Short costs probes of dead hosts; long keeps a restarted engine out.");

  public static final Key<Integer> HEALTH_PARALLELISM =
      Key.of(
          "health.parallelism",
          integer(1, 65_536),
          ProbeSettings.DEFAULTS.parallelism(),
          "Most probes at once.",
          "Small delays probes of a large fleet when many of its hosts hang.");

  public static final Key<Integer> HEALTH_FAILURES =
      Key.of(
          "health.failure-threshold",
          integer(1, 1000),
          HealthSettings.DEFAULTS.failureThreshold(),
          "Failed probes in a row that take a worker out.",
          "1 takes it out for a single lost probe; large keeps sending requests to a dead one.");

  public static final Key<Integer> HEALTH_SUCCESSES =
      Key.of(
          "health.success-threshold",
          integer(1, 1000),
          HealthSettings.DEFAULTS.successThreshold(),
          "Good probes in a row that bring a worker back; one is enough for a new worker and for"
              + " one that refused a connection.",
          "Large keeps a worker out that flaps, and one that has recovered.");

  public static final Key<Duration> MODELS_INTERVAL =
      Key.of(
          "health.models-interval",
          durationOrOff(Duration.ofSeconds(1), DAY),
          ProbeSettings.DEFAULTS.modelsInterval(),
          "Time between two looks at /v1/models of a worker whose models are not configured.",
          "Long finds newly loaded adapters late; off looks once, at the first good probe.");

  public static final Key<Boolean> MODELS_MERGED =
      Key.of(
          "models.merged",
          bool(),
          AdminSettings.DEFAULTS.mergedModels(),
          "Whether GET /v1/models is answered by the router, with the models of all workers.",
          "false passes it on to one worker with the client's headers, for servers that list models"
              + " by key.");

  public static final Key<Boolean> BREAKER_ENABLED =
      Key.of(
          "breaker.enabled",
          bool(),
          BreakerSettings.DEFAULTS.enabled(),
          "Whether a worker that fails requests is left alone for a while.",
          "false sends requests to it for as long as its probes are good.");

  public static final Key<Integer> BREAKER_FAILURES =
      Key.of(
          "breaker.failure-threshold",
          integer(1, 1_000_000),
          BreakerSettings.DEFAULTS.failureThreshold(),
          "Failures in a row that open the breaker; a refused connection counts as half of them.",
          "1 opens at any failure; large never opens.");

  public static final Key<Integer> BREAKER_SUCCESSES =
      Key.of(
          "breaker.success-threshold",
          integer(1, 1_000_000),
          BreakerSettings.DEFAULTS.successThreshold(),
          "Trial requests in a row that must succeed to close it again; one has, when a good answer"
              + " begins.",
          "Large returns a recovered worker slowly: trials run one at a time.");

  public static final Key<Duration> BREAKER_OPEN_FOR =
      Key.of(
          "breaker.open-for",
          duration(MILLI, DAY),
          BreakerSettings.DEFAULTS.openFor(),
          "Time until an open breaker lets one request through as a trial; a tenth of it, 5 s at"
              + " least, if no other worker takes requests.",
          "Short spends requests on a worker that still fails; long idles one that recovered.");

  public static final Key<Duration> BREAKER_WINDOW =
      Key.of(
          "breaker.window",
          duration(MILLI, DAY),
          BreakerSettings.DEFAULTS.window(),
          "Failures further apart than this do not add up.",
          "Short forgets failures of a worker with little traffic.");

  public static final Key<Boolean> STALL_ENABLED =
      Key.of(
          "stall.enabled",
          bool(),
          StallSettings.DEFAULTS.enabled(),
          "Whether a worker with requests in flight and no progress is taken out of choice until"
              + " it moves again.",
          "false leaves a hung engine in as long as its probes are good.");

  public static final Key<Duration> STALL_PATIENCE =
      Key.of(
          "stall.patience",
          duration(MILLI, DAY),
          StallSettings.DEFAULTS.patience(),
          "Silence that needs no explanation.",
          "Short takes out engines that are merely slow.");

  public static final Key<Duration> STALL_PER_THOUSAND =
      Key.of(
          "stall.per-thousand-tokens",
          durationOrOff(MILLI, DAY),
          StallSettings.DEFAULTS.perThousandTokens(),
          "Further silence allowed for every 1,000 prompt tokens that are waiting for an answer.",
          "Too short for the engine's prefill speed takes out engines that work on long prompts.");

  public static final Key<Duration> STALL_MOST =
      Key.of(
          "stall.most",
          duration(MILLI, DAY),
          StallSettings.DEFAULTS.most(),
          "Bound of the whole allowance; at least stall.patience.",
          "Long finds an engine late that hangs under a large backlog.");

  private FleetKeys() {}

  static List<Key<?>> all() {
    return List.of(
        MAX_WORKERS,
        HEALTH_ENDPOINT,
        HEALTH_ALSO_GOOD,
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
        STALL_ENABLED,
        STALL_PATIENCE,
        STALL_PER_THOUSAND,
        STALL_MOST);
  }
}
