package io.pointsman.compat.vllmrouter;

import static io.pointsman.compat.vllmrouter.Flag.flag;
import static io.pointsman.compat.vllmrouter.Translation.as;
import static io.pointsman.compat.vllmrouter.Translation.list;
import static io.pointsman.compat.vllmrouter.Translation.time;
import static io.pointsman.compat.vllmrouter.Translation.to;

import io.pointsman.compat.vllmrouter.Flag.Shape;
import io.pointsman.compat.vllmrouter.Flag.Source;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.LogSettings.Level;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;

/**
 * Flags of vllm-router 0.1.17 in its regular mode, honoured or accepted without effect. Defaults
 * are those of vllm-router.
 */
final class VllmRouterFlags {
  /**
   * vllm-router's default size of a prompt tree, in characters per worker. The prefix index scales
   * with it.
   */
  private static final long STANDARD_TREE = 33_554_432;

  private static final Map<String, Level> LEVELS =
      Map.of(
          "debug", Level.DEBUG,
          "info", Level.INFO,
          "warn", Level.WARN,
          "warning", Level.WARN,
          "error", Level.ERROR,
          "critical", Level.ERROR);

  private VllmRouterFlags() {}

  static List<Flag> listener() {
    return List.of(
        flag("--host", "address to listen on").standard("127.0.0.1").honoured(as(FrontKeys.HOST)),
        flag("--port", "port to listen on").standard("30000").honoured(as(FrontKeys.PORT)),
        flag("--max-payload-size", "maximum body size in bytes; larger bodies get 413")
            .standard("536870912")
            .honoured(as(FrontKeys.MAX_BODY)),
        flag("--request-id-headers", "headers that can contain the request id")
            .shape(Shape.LIST)
            .honoured(
                "without a value, the default headers are used", VllmRouterFlags::requestIdHeaders),
        flag(
                "--cors-allowed-origins",
                "origins of web pages that can call the router; unset means any")
            .shape(Shape.LIST)
            .honoured(list(HeaderKeys.CORS_ORIGINS)),
        flag("--api-key-validation-urls", "servers that validate client keys")
            .shape(Shape.LIST)
            .only(Source.RUST)
            .honoured("a result is used for 1 min, not forever", list(AdminKeys.VALIDATION_URLS)),
        flag("--max-concurrent-requests", "maximum number of concurrent requests")
            .standard("32768")
            .honoured(
                "applies on every path, and until each response ends",
                as(QueueKeys.MAX_CONCURRENT)),
        flag("--queue-size", "maximum number of queued requests; further ones get 429")
            .only(Source.PYTHON)
            .standard("100")
            .honoured(as(QueueKeys.QUEUE_SIZE)),
        flag("--queue-timeout-secs", "maximum queue time; then 408")
            .only(Source.PYTHON)
            .standard("60")
            .honoured("exact", time(ChronoUnit.SECONDS, QueueKeys.QUEUE_TIMEOUT)),
        flag("--rate-limit-tokens-per-second", "tokens per second that refill the token bucket")
            .only(Source.PYTHON)
            .honoured(
                "maximum average request rate per second; unset: only concurrency is limited",
                as(QueueKeys.RATE_PER_SECOND)));
  }

  static List<Flag> routing() {
    return List.of(
        flag("--worker-urls", "engines behind the router")
            .shape(Shape.LIST)
            .honoured((given, into) -> into.workerUrls(given.values())),
        flag("--policy", "policy that chooses a worker")
            .standard("cache_aware")
            .honoured(as(RoutingKeys.POLICY)),
        flag("--cache-threshold", "share of the prompt that must be cached")
            .standard("0.3")
            .honoured(as(RoutingKeys.CACHE_THRESHOLD)),
        flag("--balance-abs-threshold", "load difference above which load decides")
            .standard("64")
            .honoured(as(RoutingKeys.BALANCE_ABS)),
        flag("--balance-rel-threshold", "load ratio above which load decides")
            .standard("1.5")
            .honoured(as(RoutingKeys.BALANCE_REL)),
        flag("--max-tree-size", "maximum characters per worker in each prompt tree")
            .standard(Long.toString(STANDARD_TREE))
            .honoured(
                "scales the memory of the prefix index; the default value means the default memory",
                VllmRouterFlags::treeSize),
        flag("--eviction-interval", "seconds between cleanups of the prompt tree")
            .alias("--eviction-interval-secs")
            .standard("120")
            .idle("the prefix index always stays within its memory limit"),
        flag("--intra-node-data-parallel-size", "data-parallel ranks of each URL")
            .standard("1")
            .honoured(VllmRouterFlags::dataParallel),
        flag("--api-key", "bearer token for the engines")
            .honoured(
                "sent if the client has no Authorization header; the client's header wins on every"
                    + " path, also /v1/responses (see api-key-replaces)",
                as(ForwardKeys.API_KEY)),
        flag("--backend", "engine type: vllm, trtllm, openai, anthropic")
            .alias("--runtime")
            .only(Source.RUST)
            .standard("vllm")
            .honoured(
                "trtllm and anthropic behave as vllm; with openai, fields that only vLLM knows are"
                    + " forwarded too",
                Backend::choose),
        flag("--history-backend", "store for past responses: memory, none")
            .only(Source.RUST)
            .standard("memory")
            .idle("the router has no such store, and vllm-router does not read it in this mode"));
  }

  static List<Flag> watching() {
    return List.of(
        flag("--worker-startup-timeout-secs", "maximum wait for a worker to start")
            .standard("600")
            .honoured(
                "limits /add_worker; the port opens at once, and listed workers join when they"
                    + " answer",
                time(ChronoUnit.SECONDS, AdminKeys.ADD_TIMEOUT)),
        flag("--worker-startup-check-interval", "seconds between checks of a worker that starts")
            .standard("30")
            .idle("a starting worker is probed after 0.25 s, then at doubling intervals"),
        flag("--health-failure-threshold", "consecutive failed probes that make a worker unhealthy")
            .standard("3")
            .honoured(as(FleetKeys.HEALTH_FAILURES)),
        flag("--health-success-threshold", "consecutive good probes that make it healthy again")
            .standard("2")
            .honoured(as(FleetKeys.HEALTH_SUCCESSES)),
        flag("--health-check-timeout-secs", "maximum duration of a probe")
            .standard("5")
            .honoured(time(ChronoUnit.SECONDS, FleetKeys.HEALTH_TIMEOUT)),
        flag("--health-check-interval-secs", "seconds between probes")
            .standard("60")
            .honoured(time(ChronoUnit.SECONDS, FleetKeys.HEALTH_INTERVAL)),
        flag("--health-check-endpoint", "path of the probes")
            .standard("/health")
            .honoured(as(FleetKeys.HEALTH_ENDPOINT)),
        flag("--cb-failure-threshold", "consecutive failures that open a worker's breaker")
            .standard("10")
            .honoured(
                "a refused connection counts as half of this number",
                as(FleetKeys.BREAKER_FAILURES)),
        flag("--cb-success-threshold", "successes that close the breaker")
            .standard("3")
            .honoured(as(FleetKeys.BREAKER_SUCCESSES)),
        flag("--cb-timeout-duration-secs", "seconds until an open breaker allows a trial request")
            .standard("60")
            .honoured(time(ChronoUnit.SECONDS, FleetKeys.BREAKER_OPEN_FOR)),
        flag("--cb-window-duration-secs", "maximum seconds between failures that count together")
            .standard("120")
            .honoured("vllm-router ignores it", time(ChronoUnit.SECONDS, FleetKeys.BREAKER_WINDOW)),
        flag("--disable-circuit-breaker", "disable circuit breakers")
            .shape(Shape.SWITCH)
            .honoured(to(FleetKeys.BREAKER_ENABLED, false)));
  }

  static List<Flag> forwarding() {
    return List.of(
        flag("--request-timeout-secs", "maximum duration of a request, including streams")
            .standard("1800")
            .honoured(
                time(
                    ChronoUnit.SECONDS,
                    ForwardKeys.TOTAL_TIMEOUT,
                    ForwardKeys.STREAM_TOTAL_TIMEOUT,
                    ForwardKeys.FIRST_BYTE_TIMEOUT,
                    ForwardKeys.IDLE_TIMEOUT,
                    DisaggKeys.PREFILL_TIMEOUT,
                    DisaggKeys.DECODE_TIMEOUT)),
        flag(
                "--pool-idle-timeout-secs",
                "seconds for which idle connections stay open; 0: none stays open")
            .only(Source.RUST)
            .standard("2")
            .honoured(VllmRouterFlags::poolIdle),
        flag("--retry-max-retries", "maximum number of attempts per request")
            .standard("5")
            .honoured("each attempt uses another worker", as(ForwardKeys.RETRY_ATTEMPTS)),
        flag("--retry-initial-backoff-ms", "pause before the first retry")
            .standard("50")
            .honoured(time(0, ChronoUnit.MILLIS, ForwardKeys.RETRY_INITIAL_BACKOFF)),
        flag("--retry-max-backoff-ms", "maximum pause")
            .standard("30000")
            .honoured(time(ChronoUnit.MILLIS, ForwardKeys.RETRY_MAX_BACKOFF)),
        flag("--retry-backoff-multiplier", "factor by which each pause exceeds the previous one")
            .standard("1.5")
            .honoured(as(ForwardKeys.RETRY_MULTIPLIER)),
        flag("--retry-jitter-factor", "random share of a pause")
            .standard("0.2")
            .honoured(as(ForwardKeys.RETRY_JITTER)),
        flag("--disable-retries", "disable retries")
            .shape(Shape.SWITCH)
            .honoured(to(ForwardKeys.RETRY_ENABLED, false)));
  }

  static List<Flag> operation() {
    return List.of(
        flag("--prometheus-host", "address of the metrics port")
            .standard("127.0.0.1")
            .honoured(as(OperationKeys.METRICS_HOST)),
        flag("--prometheus-port", "port for metrics")
            .standard("29000")
            .honoured(as(OperationKeys.METRICS_PORT)),
        flag("--log-level", "lowest level that is logged")
            .standard("info")
            .honoured("critical means error", VllmRouterFlags::logLevel),
        flag("--log-dir", "directory for a daily log file")
            .honoured(
                "the file is pointsman.log; all files together take 1 GiB at most",
                as(OperationKeys.LOG_DIRECTORY)),
        flag("--compat-metrics", "on or off: also provide metrics under vllm-router's names")
            .only(Source.OWN)
            .standard("on")
            .honoured(VllmRouterFlags::compatMetrics));
  }

  private static void requestIdHeaders(Given given, Translation into) {
    if (!given.values().isEmpty()) {
      list(HeaderKeys.REQUEST_ID_HEADERS).apply(given, into);
    }
  }

  private static void treeSize(Given given, Translation into) {
    long characters = into.whole(given, 1, 1L << 40);
    if (characters > 0) {
      double scaled =
          (double) RoutingKeys.INDEX_MAX_BYTES.defaultValue() * characters / STANDARD_TREE;
      long bytes = Math.max(1L << 20, Math.min(1L << 36, (long) scaled));
      into.values().set(RoutingKeys.INDEX_MAX_BYTES, bytes);
    }
  }

  private static void dataParallel(Given given, Translation into) {
    long size = into.whole(given, 1, 1024);
    if (size > 0) {
      into.dataParallelSize((int) size);
      into.values().set(AdminKeys.DATA_PARALLEL_SIZE, (int) size);
      into.values().set(KubernetesKeys.DATA_PARALLEL_SIZE, (int) size);
    }
  }

  private static void poolIdle(Given given, Translation into) {
    long seconds = into.whole(given, 0, 86_400);
    if (seconds >= 0) {
      into.values().set(ForwardKeys.POOL_IDLE, Duration.ofSeconds(seconds));
    }
  }

  private static void logLevel(Given given, Translation into) {
    Level level = LEVELS.get(given.value());
    if (level == null) {
      into.problem(given, given.value(), "debug, info, warn, warning, error, critical");
    } else {
      into.values().set(OperationKeys.LOG_LEVEL, level);
    }
  }

  private static void compatMetrics(Given given, Translation into) {
    switch (given.value()) {
      case "on" -> into.values().set(OperationKeys.METRICS_VLLM_NAMES, true);
      case "off" -> into.values().set(OperationKeys.METRICS_VLLM_NAMES, false);
      default -> into.problem(given, given.value(), "on or off");
    }
  }
}
