package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bool;
import static io.pointsman.app.config.value.ValueTypes.decimal;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.integer;
import static io.pointsman.app.config.value.ValueTypes.text;
import static io.pointsman.app.config.value.ValueTypes.texts;

import io.pointsman.app.admin.AdminSettings;
import io.pointsman.app.admin.AuthSettings;
import io.pointsman.app.explain.DecisionSettings;
import java.time.Duration;
import java.util.List;

/** Keys of the HTTP endpoints of a running router, and of client authentication. */
public final class AdminKeys {
  public static final Key<Boolean> ENABLED =
      Key.of(
          "admin.enabled",
          bool(),
          AdminSettings.DEFAULTS.enabled(),
          "Whether workers can be described, added and removed over HTTP, on the port of the"
              + " clients.",
          "true lets every client do it; false leaves the fleet to the configuration, and of these"
              + " paths, while decide.enabled, a GET /workers of addresses and health.");

  public static final Key<Duration> ADD_TIMEOUT =
      Key.of(
          "admin.add-timeout",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          AdminSettings.DEFAULTS.addTimeout(),
          "Longest wait of a request that adds a worker for the worker's first good probe.",
          "Short gives up on engines that load large models.");

  public static final Key<Integer> DATA_PARALLEL_SIZE =
      Key.of(
          "admin.data-parallel-size",
          integer(1, 1024),
          AdminSettings.DEFAULTS.dataParallelSize(),
          "Data-parallel ranks of an engine that is added over HTTP.",
          "Above 1 an added URL becomes as many workers, told apart by X-data-parallel-rank.");

  public static final Key<Boolean> HEALTH_OF_WORKERS =
      Key.of(
          "admin.health-of-workers",
          bool(),
          AdminSettings.DEFAULTS.healthOfWorkers(),
          "Whether GET /health tells of the workers: 503 while any of them is not well, and while"
              + " the router stops.",
          "true has a liveness probe of this path kill the router for an engine that is down; false"
              + " is 200 while the router runs, /readiness tells of the workers.");

  public static final Key<List<String>> REFUSED_PATHS =
      Key.of(
          "admin.refused-paths",
          texts("<path>", "paths that start with /"),
          AdminSettings.DEFAULTS.refusedPaths(),
          "Paths that are answered 501 instead of being passed on to a worker, compared exactly and"
              + " without the query string.",
          "Suits what must reach a certain engine and not just any, such as /sleep.");

  public static final Key<String> RAY_APPLICATION =
      Key.of(
          "admin.ray-application",
          text("<name>", "a name", true),
          AdminSettings.DEFAULTS.rayApplication(),
          "Name of the application that GET /-/routes tells, as Ray Serve's proxies do; with one"
              + " GET /-/healthz is 200 while a worker is well.",
          "Empty passes both paths on to a worker.");

  public static final Key<Double> DECISIONS_SAMPLE =
      Key.of(
          "decisions.sample",
          decimal(0, 1),
          DecisionSettings.DEFAULTS.sample(),
          "Share of all decisions that is explained and kept, drawn by chance, for GET /decisions.",
          "0 keeps only what /v1/decide is asked to explain; each costs a prediction for every"
              + " worker.");

  public static final Key<Integer> DECISIONS_KEEP =
      Key.of(
          "decisions.keep",
          integer(0, DecisionSettings.MOST_KEPT),
          DecisionSettings.DEFAULTS.keep(),
          "How many explained decisions are kept; the newest.",
          "0 keeps none; each takes up to 10 KiB in a large fleet.");

  public static final Key<List<String>> VALIDATION_URLS =
      Key.of(
          "auth.validation-urls",
          texts("<url>", "URLs such as https://keys.example/check"),
          AuthSettings.DEFAULTS.validationUrls(),
          "Servers that are asked, one after the other, whether a client's bearer token is valid: a"
              + " GET with that token, which 200 confirms. While none does and one cannot be asked"
              + " or answers 5xx, 408 or 429, the request is answered with 503, and the next one"
              + " asks again.",
          "An empty list lets everybody in; with any, every path needs a valid token.");

  public static final Key<Duration> VERDICT_TTL =
      Key.of(
          "auth.verdict-ttl",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          AuthSettings.DEFAULTS.ttl(),
          "How long a verdict on a token is used before it is asked for again.",
          "Short asks often; long lets revoked tokens in for as long.");

  private AdminKeys() {}

  static List<Key<?>> all() {
    return List.of(
        ENABLED,
        ADD_TIMEOUT,
        DATA_PARALLEL_SIZE,
        HEALTH_OF_WORKERS,
        REFUSED_PATHS,
        RAY_APPLICATION,
        DECISIONS_SAMPLE,
        DECISIONS_KEEP,
        VALIDATION_URLS,
        VERDICT_TTL);
  }
}
