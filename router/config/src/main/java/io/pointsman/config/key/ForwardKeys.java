package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.durationOrOff;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.config.value.Resolve;
import io.pointsman.config.value.WorkerKeysType;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.upstream.UpstreamSettings;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Keys of forwarding to engines: retries, timeouts, connections. */
public final class ForwardKeys {
  private static final RetrySettings RETRY = RetrySettings.DEFAULTS;
  private static final TimeoutSettings TIMEOUTS = TimeoutSettings.DEFAULTS;
  private static final UpstreamSettings UPSTREAM = UpstreamSettings.DEFAULTS;
  private static final Duration MILLI = Duration.ofMillis(1);
  private static final Duration DAY = Duration.ofHours(24);

  public static final Key<Boolean> RETRY_ENABLED =
      Key.of(
          "retry.enabled",
          bool(),
          true,
          "Retry a request on another worker if it fails before the first byte of the response.",
          "`false`: clients get every failure, with one exception. A worker can close a kept-alive"
              + " connection just as the request arrives. If it closes within 1 s and before any"
              + " response byte, the router sends the request once more to this worker.");

  public static final Key<Integer> RETRY_ATTEMPTS =
      Key.of(
          "retry.max-attempts",
          integer(1, 100),
          RETRY.maxAttempts(),
          "Maximum number of attempts for one request, including the first. Each attempt uses"
              + " another worker. After two attempts in which the engine failed (an error 500, a"
              + " connection that broke) there is no other, because the request may end engines.",
          "`1`: no retries. With a high value, clients wait long if all workers fail.");

  public static final Key<Duration> RETRY_INITIAL_BACKOFF =
      Key.of(
          "retry.initial-backoff",
          duration(Duration.ZERO, DAY),
          RETRY.initialBackoff(),
          "Pause before the second attempt. There is no pause after a refused connection or a busy"
              + " worker.",
          "With a low value, the next worker gets the request at once. A high value adds to the"
              + " client's wait.");

  public static final Key<Duration> RETRY_MAX_BACKOFF =
      Key.of(
          "retry.max-backoff",
          duration(MILLI, DAY),
          RETRY.maxBackoff(),
          "Maximum pause between attempts, at least `retry.initial-backoff`. It is also the maximum"
              + " that is accepted from an engine's Retry-After header.",
          "With a high value, clients wait long.");

  public static final Key<Double> RETRY_MULTIPLIER =
      Key.of(
          "retry.backoff-multiplier",
          decimal(1, 100),
          RETRY.multiplier(),
          "Factor by which each pause exceeds the previous one.",
          "`1`: all pauses are equal. With a high value, pauses soon reach `retry.max-backoff`.");

  public static final Key<Double> RETRY_JITTER =
      Key.of(
          "retry.jitter-factor",
          decimal(0, 1),
          RETRY.jitter(),
          "Random share by which a pause is longer or shorter.",
          "`0`: requests that failed together are retried together.");

  public static final Key<Double> RETRY_BUDGET =
      Key.of(
          "retry.budget-share",
          decimal(0, 1),
          RETRY.budgetShare(),
          "Number of retries that each request adds to the retry budget. `retry.budget-per-second`"
              + " adds more. About ten seconds of this budget can be used at once, for the requests"
              + " of a worker that stops responding.",
          "With a low value, requests fail early if a worker fails. `1`: a failing fleet gets up to"
              + " double the traffic on average, and a multiple of it for some seconds.");

  public static final Key<Double> RETRY_PER_SECOND =
      Key.of(
          "retry.budget-per-second",
          decimal(0, 1_000_000),
          RETRY.budgetPerSecond(),
          "Number of retries per second that the retry budget gets at any request rate. Up to 30 s"
              + " of this budget can be used at once. The event loops share it, but each can use at"
              + " least `retry.max-attempts`.",
          "`0`: the first requests get no retries, and low traffic gets only"
              + " `retry.budget-share`.");

  public static final Key<Boolean> RETRY_AFTER_TIMEOUT =
      Key.of(
          "retry.after-timeout",
          bool(),
          RETRY.afterTimeout(),
          "Retry a request after `timeouts.first-byte`.",
          "`true` can compute the same response twice, because the first engine may still work on"
              + " it.");

  public static final Key<Boolean> RETRY_AFTER_LATE_RESET =
      Key.of(
          "retry.after-late-reset",
          bool(),
          RETRY.afterLateReset(),
          "Retry a request once if its connection breaks before a response and more than 1 s after"
              + " the request was sent.",
          "`true` hides an engine crash from clients. `false` never computes a response twice, and"
              + " a request that crashes engines reaches only one.");

  public static final Key<Integer> POISON_ENTRIES =
      Key.of(
          "retry.poison-entries",
          integer(0, 1_000_000),
          RETRY.poison().entries(),
          "Maximum number of requests to remember after which two engines failed. A request with"
              + " the same path and body gets 500 and reaches no worker. Bodies larger than"
              + " `limits.max-buffered-body` are not remembered.",
          "`0`: a client that repeats such a request ends two engines each time. With a low value,"
              + " many different failing requests displace the dangerous one.");

  public static final Key<Duration> POISON_TTL =
      Key.of(
          "retry.poison-ttl",
          duration(MILLI, DAY),
          RETRY.poison().ttl(),
          "Time for which a request after which two engines failed is refused.",
          "With a low value, it soon ends engines again. With a high value, a harmless request that"
              + " met two failing engines is refused for long.");

  public static final Key<Duration> CONNECT_TIMEOUT =
      Key.of(
          "timeouts.connect",
          duration(MILLI, Duration.ofHours(1)),
          UPSTREAM.connectTimeout(),
          "Maximum time to connect to an engine.",
          "A low value fails for distant hosts. A high value delays the retry on another worker.");

  public static final Key<Duration> FIRST_BYTE_TIMEOUT =
      Key.of(
          "timeouts.first-byte",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.firstByte(),
          "Maximum wait for the response head, and then for the first byte of the body. In a"
              + " stream, the second wait ends with the first generated event. Comments and events"
              + " such as `response.created` do not end it, but restart it.",
          "The value must exceed the time in the engine's queue plus the prefill time of the"
              + " longest prompt. Without streaming, it must exceed the whole generation.");

  public static final Key<Duration> IDLE_TIMEOUT =
      Key.of(
          "timeouts.idle",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.idle(),
          "Maximum silence in a response, after `timeouts.first-byte` has ended. In a WebSocket:"
              + " maximum silence of both sides together.",
          "A low value interrupts streams of engines that pause. `off`: broken streams stay open"
              + " until TCP detects it.");

  public static final Key<Duration> TOTAL_TIMEOUT =
      Key.of(
          "timeouts.total",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.total(),
          "Maximum duration of a request if its response is not an event stream.",
          "A low value interrupts long generations.");

  public static final Key<Duration> STREAM_TOTAL_TIMEOUT =
      Key.of(
          "timeouts.stream-total",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.streamTotal(),
          "Maximum duration of a request if its response is an event stream, and of a WebSocket."
              + " While the request body arrives, `timeouts.total` applies too.",
          "A low value interrupts long generations.");

  public static final Key<Duration> CLIENT_HEAD_TIMEOUT =
      Key.of(
          "timeouts.client-head",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.clientHead(),
          "Maximum time in which a client must send the request head.",
          "`off`: idle clients can keep connections open.");

  public static final Key<Duration> CLIENT_BODY_TIMEOUT =
      Key.of(
          "timeouts.client-body",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.clientBody(),
          "Maximum silence of a client while it sends the request body.",
          "`off`: idle clients can keep memory in use.");

  public static final Key<Duration> CLIENT_IDLE_TIMEOUT =
      Key.of(
          "timeouts.client-idle",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.clientIdle(),
          "Time for which a client connection stays open between requests, or while the client does"
              + " not read the response.",
          "With a low value, clients must connect again. `off`: dead clients keep connections open,"
              + " except connections that close after a response; these end after 30 s.");

  public static final Key<Duration> POOL_IDLE =
      Key.of(
          "pool.idle-timeout",
          durationOrOff(MILLI, DAY),
          UPSTREAM.poolIdleTimeout(),
          "Time for which an idle connection to an engine stays open.",
          "Set it lower than the engine's own timeout (often 5 s). If it is higher, some requests"
              + " need a new connection, which clients do not notice. `off`: every request uses a"
              + " new connection.");

  public static final Key<Integer> POOL_MAX_IDLE =
      Key.of(
          "pool.max-idle-per-worker",
          integer(0, 65_536),
          UPSTREAM.maxIdlePerWorker(),
          "Maximum number of idle connections to each worker, for each event loop.",
          "With a low value, bursts must open new connections.");

  public static final Key<Duration> NAME_TTL =
      Key.of(
          "pool.name-ttl",
          duration(Duration.ZERO, DAY),
          UPSTREAM.nameTtl(),
          "Time for which the resolved addresses of a worker's host name are used, by requests and"
              + " probes. If a name has several addresses, requests use them in turn. If one"
              + " refuses a connection, the same attempt uses the next one.",
          "With a high value, requests go to the old address of a worker that has moved.");

  public static final Key<Duration> TCP_USER_TIMEOUT =
      Key.of(
          "pool.tcp-user-timeout",
          durationOrOff(Duration.ofSeconds(1), DAY),
          UPSTREAM.tcpUserTimeout(),
          "Time after which the system ends a connection to an engine that acknowledges nothing,"
              + " for example behind a network that drops packets. Needs Linux.",
          "A low value ends connections in short network faults. `off`: requests that were sent"
              + " before such a fault wait for `timeouts.first-byte` or `timeouts.idle`.");

  public static final Key<Resolve> RESOLVE =
      Key.of(
          "pool.resolve",
          constant(Resolve.class),
          Resolve.ONE,
          "Workers behind a host name with several addresses, for workers that do not set"
              + " `resolve`. `one`: the name is one worker, and its requests use the addresses in"
              + " turn. `all`: each address is a worker; addresses are added and removed as the"
              + " name changes (`pool.name-ttl`).",
          "`all` suits headless Services: each engine has its own load, cache and health. Workers"
              + " with `https://`, an IP address or a key of their own (`worker-api-keys`) are"
              + " always one worker.");

  public static final Key<String> API_KEY =
      Key.of(
              "api-key",
              text("<key>", "a key", true),
              "",
              "Bearer token for engines. The router sends it with probes, and with requests that"
                  + " have no Authorization header. Every key in a file can be `{env: NAME}` or"
                  + " `{file: PATH}`; on the command line use `--api-key-file`, because other users"
                  + " of the machine can see arguments.",
              "Empty: no token is sent.")
          .secret();

  public static final Key<Boolean> API_KEY_REPLACES =
      Key.of(
          "api-key-replaces",
          bool(),
          UPSTREAM.keys().replace(),
          "Send `api-key` in place of the client's Authorization and X-Api-Key headers. Workers"
              + " that may not get `api-key` (see `api-key-origins`) then get no key.",
          "`true`: clients with other keys, or with invalid ones, can reach the engines, and"
              + " engines cannot identify clients.");

  public static final Key<Map<String, String>> WORKER_KEYS =
      Key.of(
              "worker-api-keys",
              new WorkerKeysType(),
              Map.of(),
              "Bearer tokens of single workers: a group of `URL: key`. They precede `api-key` and"
                  + " replace the client's Authorization and X-Api-Key headers.",
              "Use it for a provider of models beside your own engines. The other headers of"
                  + " clients pass to it.")
          .secret();

  private ForwardKeys() {}

  static List<Key<?>> all() {
    return List.of(
        RETRY_ENABLED,
        RETRY_ATTEMPTS,
        RETRY_INITIAL_BACKOFF,
        RETRY_MAX_BACKOFF,
        RETRY_MULTIPLIER,
        RETRY_JITTER,
        RETRY_BUDGET,
        RETRY_PER_SECOND,
        RETRY_AFTER_TIMEOUT,
        RETRY_AFTER_LATE_RESET,
        POISON_ENTRIES,
        POISON_TTL,
        CONNECT_TIMEOUT,
        FIRST_BYTE_TIMEOUT,
        IDLE_TIMEOUT,
        TOTAL_TIMEOUT,
        STREAM_TOTAL_TIMEOUT,
        CLIENT_HEAD_TIMEOUT,
        CLIENT_BODY_TIMEOUT,
        CLIENT_IDLE_TIMEOUT,
        POOL_IDLE,
        POOL_MAX_IDLE,
        NAME_TTL,
        TCP_USER_TIMEOUT,
        RESOLVE,
        API_KEY,
        API_KEY_REPLACES,
        WORKER_KEYS);
  }
}
