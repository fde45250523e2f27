package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;
import static io.pointsman.config.value.ValueTypes.texts;

import io.pointsman.config.settings.AdminSettings;
import io.pointsman.config.settings.AuthSettings;
import io.pointsman.config.settings.DecisionSettings;
import io.pointsman.proxy.settings.ClientLimits;
import java.time.Duration;
import java.util.List;

/** Keys of the HTTP endpoints of a running router, and of client authentication. */
public final class AdminKeys {
  public static final Key<Boolean> ENABLED =
      Key.of(
          "admin.enabled",
          bool(),
          AdminSettings.DEFAULTS.enabled(),
          "Show, add and remove workers over HTTP, on the admin listener.",
          "`false`: only the configuration changes the fleet. While `decide.enabled` is `true`,"
              + " `GET /workers` then still shows addresses and health. A reload that sets it"
              + " answers later calls with 404, also on open connections.");

  public static final Key<Duration> ADD_TIMEOUT =
      Key.of(
          "admin.add-timeout",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          AdminSettings.DEFAULTS.addTimeout(),
          "Maximum wait for the first good probe of a worker that is added over HTTP.",
          "A low value fails for engines that load large models.");

  public static final Key<Integer> DATA_PARALLEL_SIZE =
      Key.of(
          "admin.data-parallel-size",
          integer(1, 1024),
          AdminSettings.DEFAULTS.dataParallelSize(),
          "Number of data-parallel ranks of an engine that is added over HTTP.",
          "`2` or more: each rank is a worker. The router selects the rank with the header"
              + " `X-data-parallel-rank`.");

  public static final Key<Boolean> STACK_ENDPOINTS =
      Key.of(
          "admin.stack-endpoints",
          bool(),
          false,
          "Answer `GET /engines` and `GET /version` as production-stack's router does, and send a"
              + " request with `?id=` to the engine with this id.",
          "`false`: these paths go to an engine, and `?id=` has no meaning for the router.");

  public static final Key<List<String>> REFUSED_PATHS =
      Key.of(
          "admin.refused-paths",
          texts("<path>", "paths that start with /"),
          AdminSettings.DEFAULTS.refusedPaths(),
          "Paths of clients that the router answers with 501 instead of sending them to a worker."
              + " Every spelling of the path counts: encoded characters, slashes, dot segments,"
              + " upper case.",
          "Control paths of engines are closed for clients without this key.");

  public static final Key<String> RAY_APPLICATION =
      Key.of(
          "admin.ray-application",
          text("<name>", "a name", true),
          AdminSettings.DEFAULTS.rayApplication(),
          "Application name in the answer to `GET /-/routes`, as in Ray Serve's proxies. If it is"
              + " set, `GET /-/healthz` is 200 while at least one worker is healthy.",
          "Empty: both paths go to a worker.");

  public static final Key<Duration> CONTROL_TIMEOUT =
      Key.of(
          "admin.control-timeout",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          AdminSettings.DEFAULTS.controlTimeout(),
          "Maximum duration of a control call, for example `/sleep` or `/update_weights`, at each"
              + " engine. The router sends these calls to all engines of a model.",
          "A low value reports failures of engines that are still loading weights.");

  public static final Key<Double> DECISIONS_SAMPLE =
      Key.of(
          "decisions.sample",
          decimal(0, 1),
          DecisionSettings.DEFAULTS.sample(),
          "Random share of decisions that are explained and kept for `GET /decisions`. In addition"
              + " the first 32 decisions are explained, and then up to 2 per second.",
          "`0`: only if a caller of `/v1/decide` asks for it. Each explained decision costs a"
              + " prediction for every worker. The router also reads the answers of explained"
              + " decisions.");

  public static final Key<Integer> DECISIONS_KEEP =
      Key.of(
          "decisions.keep",
          integer(0, DecisionSettings.MOST_KEPT),
          DecisionSettings.DEFAULTS.keep(),
          "Number of explained decisions to keep; new ones replace the oldest.",
          "`0`: none. Each takes up to 10 KiB in a large fleet.");

  public static final Key<List<String>> VALIDATION_URLS =
      Key.of(
          "auth.validation-urls",
          texts("<url>", "URLs such as https://keys.example/check"),
          AuthSettings.DEFAULTS.validationUrls(),
          "Servers that validate the clients' bearer tokens, asked one after the other. The router"
              + " sends a GET with the token; 200 means valid. Its body can name the client. If"
              + " none confirms the token and a server fails (no answer, 5xx, 408 or 429), the"
              + " router answers 503. The next request asks again.",
          "An empty list: no token is needed, unless `auth.keys-file` or `auth.keys-env` is set."
              + " Otherwise every path needs a valid token.");

  public static final Key<String> KEYS_FILE =
      Key.of(
          "auth.keys-file",
          text("<file>", "a YAML file", true),
          AuthSettings.DEFAULTS.keysFile(),
          "File with hashed keys of clients, planes and administrators. `pointsman key create`"
              + " makes one. Every path of clients then needs a key of this file or of"
              + " `auth.keys-env`, or one that `auth.validation-urls` confirm. The router reads a"
              + " changed file again; an invalid one has no effect.",
          "Empty: no file. A key of the file does not go on to workers; they get `api-key`.");

  public static final Key<String> KEYS_ENV =
      Key.of(
          "auth.keys-env",
          text("<name>", "the name of an environment variable", true),
          AuthSettings.DEFAULTS.keysEnv(),
          "Name of an environment variable with the text of such a file, for example of a Secret in"
              + " Kubernetes. It is read at the start. Its keys count beside those of"
              + " `auth.keys-file`, and names must differ.",
          "Empty: no variable. A changed variable needs a restart.");

  public static final Key<Duration> VERDICT_TTL =
      Key.of(
          "auth.verdict-ttl",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          AuthSettings.DEFAULTS.ttl(),
          "Time for which the result of a token validation is used.",
          "A low value asks the servers often. With a high value, revoked tokens stay valid for"
              + " this time.");

  public static final Key<Boolean> SEARCH_RESPONSES =
      Key.of(
          "auth.search-responses",
          bool(),
          ClientLimits.DEFAULTS.searchesUnowned(),
          "Search the workers for a stored response (`/v1/responses/{id}`,"
              + " `previous_response_id`) that the router does not know, if clients have keys or"
              + " certificates. The first client that reads such a response then owns it.",
          "`false`: such an id gets 404, also for the client that created the response before a"
              + " restart of the router or through another router. `true`: a client that learns"
              + " such an id can use the response of another client.");

  private AdminKeys() {}

  static List<Key<?>> all() {
    return List.of(
        ENABLED,
        ADD_TIMEOUT,
        DATA_PARALLEL_SIZE,
        STACK_ENDPOINTS,
        REFUSED_PATHS,
        RAY_APPLICATION,
        CONTROL_TIMEOUT,
        DECISIONS_SAMPLE,
        DECISIONS_KEEP,
        VALIDATION_URLS,
        KEYS_FILE,
        KEYS_ENV,
        VERDICT_TTL,
        SEARCH_RESPONSES);
  }
}
