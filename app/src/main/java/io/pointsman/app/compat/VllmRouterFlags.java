package io.pointsman.app.compat;

import static io.pointsman.app.compat.Flag.flag;
import static io.pointsman.app.compat.Translation.as;
import static io.pointsman.app.compat.Translation.list;
import static io.pointsman.app.compat.Translation.time;
import static io.pointsman.app.compat.Translation.to;

import io.pointsman.app.compat.Flag.Shape;
import io.pointsman.app.compat.Flag.Source;
import io.pointsman.app.config.key.AdminKeys;
import io.pointsman.app.config.key.DisaggKeys;
import io.pointsman.app.config.key.FleetKeys;
import io.pointsman.app.config.key.ForwardKeys;
import io.pointsman.app.config.key.FrontKeys;
import io.pointsman.app.config.key.KubernetesKeys;
import io.pointsman.app.config.key.OperationKeys;
import io.pointsman.app.config.key.RoutingKeys;
import io.pointsman.app.logging.LogSettings.Level;
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
        flag("--max-payload-size", "largest body in bytes; 413 above")
            .standard("536870912")
            .honoured(as(FrontKeys.MAX_BODY)),
        flag("--request-id-headers", "headers that may carry a request's id")
            .shape(Shape.LIST)
            .honoured("none given means the usual four", VllmRouterFlags::requestIdHeaders),
        flag("--cors-allowed-origins", "origins of web pages that may call; none means any")
            .shape(Shape.LIST)
            .honoured(list(FrontKeys.CORS_ORIGINS)),
        flag("--api-key-validation-urls", "servers that are asked whether a client's key is valid")
            .shape(Shape.LIST)
            .only(Source.RUST)
            .honoured(
                "a verdict is kept for a minute, not for ever", list(AdminKeys.VALIDATION_URLS)),
        flag("--max-concurrent-requests", "most requests at once")
            .standard("32768")
            .honoured(
                "a true limit, held to the end of each answer, on every path",
                as(FrontKeys.MAX_CONCURRENT)),
        flag("--queue-size", "requests that may wait; 429 beyond")
            .only(Source.PYTHON)
            .standard("100")
            .honoured(as(FrontKeys.QUEUE_SIZE)),
        flag("--queue-timeout-secs", "longest wait; 408 after it")
            .only(Source.PYTHON)
            .standard("60")
            .honoured("waits exactly so long", time(ChronoUnit.SECONDS, FrontKeys.QUEUE_TIMEOUT)),
        flag("--rate-limit-tokens-per-second", "refill of the token bucket")
            .only(Source.PYTHON)
            .honoured(
                "requests let in per second; without it only their number at once is limited",
                as(FrontKeys.RATE_PER_SECOND)));
  }

  static List<Flag> routing() {
    return List.of(
        flag("--worker-urls", "engines behind the router")
            .shape(Shape.LIST)
            .honoured((given, into) -> into.workerUrls(given.values())),
        flag("--policy", "how a worker is chosen")
            .standard("cache_aware")
            .honoured(as(RoutingKeys.POLICY)),
        flag("--cache-threshold", "share of the prompt that must match")
            .standard("0.3")
            .honoured(as(RoutingKeys.CACHE_THRESHOLD)),
        flag("--balance-abs-threshold", "load difference that ends affinity")
            .standard("64")
            .honoured(as(RoutingKeys.BALANCE_ABS)),
        flag("--balance-rel-threshold", "load ratio that ends affinity")
            .standard("1.5")
            .honoured(as(RoutingKeys.BALANCE_REL)),
        flag("--max-tree-size", "characters per worker in each prompt tree")
            .standard(Long.toString(STANDARD_TREE))
            .honoured(
                "sizes the prefix index in proportion: its default is the index's default",
                VllmRouterFlags::treeSize),
        flag("--eviction-interval", "seconds between sweeps of the prompt tree")
            .alias("--eviction-interval-secs")
            .standard("120")
            .idle("the prefix index is bounded at every moment, so there is nothing to sweep"),
        flag("--intra-node-data-parallel-size", "data-parallel ranks of each URL")
            .standard("1")
            .honoured(VllmRouterFlags::dataParallel),
        flag("--api-key", "bearer token for the engines")
            .honoured(
                "sent where the client brings no Authorization of its own, which also wins on"
                    + " /v1/responses and further paths (api-key-replaces)",
                as(ForwardKeys.API_KEY)),
        flag("--backend", "kind of the engines: vllm, trtllm, openai, anthropic")
            .alias("--runtime")
            .only(Source.RUST)
            .standard("vllm")
            .honoured(
                "trtllm and anthropic behave as vllm; openai also passes on the fields that only"
                    + " vLLM knows",
                Backend::choose),
        flag("--history-backend", "store of past responses: memory, none")
            .only(Source.RUST)
            .standard("memory")
            .idle("there is no such store here, and nothing reads it there in this mode"));
  }

  static List<Flag> watching() {
    return List.of(
        flag("--worker-startup-timeout-secs", "longest wait for a worker to come up")
            .standard("600")
            .honoured(
                "bounds the wait of /add_worker; the port opens at once and listed workers join"
                    + " when they answer",
                time(ChronoUnit.SECONDS, AdminKeys.ADD_TIMEOUT)),
        flag("--worker-startup-check-interval", "seconds between looks at a worker that starts")
            .standard("30")
            .idle("a worker that is not up is probed after 0.25 s, then at doubling intervals"),
        flag("--health-failure-threshold", "failed probes that take a worker out")
            .standard("3")
            .honoured(as(FleetKeys.HEALTH_FAILURES)),
        flag("--health-success-threshold", "good probes that bring it back")
            .standard("2")
            .honoured(as(FleetKeys.HEALTH_SUCCESSES)),
        flag("--health-check-timeout-secs", "longest probe")
            .standard("5")
            .honoured(time(ChronoUnit.SECONDS, FleetKeys.HEALTH_TIMEOUT)),
        flag("--health-check-interval-secs", "seconds between probes")
            .standard("60")
            .honoured(time(ChronoUnit.SECONDS, FleetKeys.HEALTH_INTERVAL)),
        flag("--health-check-endpoint", "path of probes")
            .standard("/health")
            .honoured(as(FleetKeys.HEALTH_ENDPOINT)),
        flag("--cb-failure-threshold", "failures in a row that open a worker's breaker")
            .standard("10")
            .honoured(
                "a refused connection counts as half of them", as(FleetKeys.BREAKER_FAILURES)),
        flag("--cb-success-threshold", "successes that close it")
            .standard("3")
            .honoured(as(FleetKeys.BREAKER_SUCCESSES)),
        flag("--cb-timeout-duration-secs", "seconds until it lets a trial through")
            .standard("60")
            .honoured(time(ChronoUnit.SECONDS, FleetKeys.BREAKER_OPEN_FOR)),
        flag("--cb-window-duration-secs", "seconds after which failures are forgotten")
            .standard("120")
            .honoured(
                "works here; it is never looked at there",
                time(ChronoUnit.SECONDS, FleetKeys.BREAKER_WINDOW)),
        flag("--disable-circuit-breaker", "no breakers")
            .shape(Shape.SWITCH)
            .honoured(to(FleetKeys.BREAKER_ENABLED, false)));
  }

  static List<Flag> forwarding() {
    return List.of(
        flag("--request-timeout-secs", "longest exchange, streams included")
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
        flag("--pool-idle-timeout-secs", "how long unused connections are kept; 0 keeps none")
            .only(Source.RUST)
            .standard("2")
            .honoured(VllmRouterFlags::poolIdle),
        flag("--retry-max-retries", "most attempts of a request")
            .standard("5")
            .honoured("each on another worker", as(ForwardKeys.RETRY_ATTEMPTS)),
        flag("--retry-initial-backoff-ms", "first pause")
            .standard("50")
            .honoured(time(0, ChronoUnit.MILLIS, ForwardKeys.RETRY_INITIAL_BACKOFF)),
        flag("--retry-max-backoff-ms", "longest pause")
            .standard("30000")
            .honoured(time(ChronoUnit.MILLIS, ForwardKeys.RETRY_MAX_BACKOFF)),
        flag("--retry-backoff-multiplier", "growth of pauses")
            .standard("1.5")
            .honoured(as(ForwardKeys.RETRY_MULTIPLIER)),
        flag("--retry-jitter-factor", "share of a pause left to chance")
            .standard("0.2")
            .honoured(as(ForwardKeys.RETRY_JITTER)),
        flag("--disable-retries", "one attempt only")
            .shape(Shape.SWITCH)
            .honoured(to(ForwardKeys.RETRY_ENABLED, false)));
  }

  static List<Flag> operation() {
    return List.of(
        flag("--prometheus-host", "address of the metrics listener")
            .standard("127.0.0.1")
            .honoured(as(OperationKeys.METRICS_HOST)),
        flag("--prometheus-port", "port of the metrics listener")
            .standard("29000")
            .honoured(as(OperationKeys.METRICS_PORT)),
        flag("--log-level", "least severe level that is logged")
            .standard("info")
            .honoured("critical means error", VllmRouterFlags::logLevel),
        flag("--log-dir", "folder of a daily log file")
            .honoured(
                "the file is pointsman.log; all files together take 1 GiB at most",
                as(OperationKeys.LOG_DIRECTORY)),
        flag("--compat-metrics", "on or off: metrics under the names of vllm-router too")
            .only(Source.OWN)
            .standard("on")
            .honoured(VllmRouterFlags::compatMetrics));
  }

  private static void requestIdHeaders(Given given, Translation into) {
    if (!given.values().isEmpty()) {
      list(FrontKeys.REQUEST_ID_HEADERS).apply(given, into);
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
