package io.pointsman.compat.productionstack;

import static io.pointsman.compat.productionstack.StackFlags.stack;

import io.pointsman.compat.vllmrouter.Effect;
import io.pointsman.compat.vllmrouter.Flag;
import io.pointsman.compat.vllmrouter.Flag.Shape;
import io.pointsman.compat.vllmrouter.Given;
import io.pointsman.compat.vllmrouter.Translation;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.TracingKeys;
import io.pointsman.config.settings.LogSettings.Format;
import io.pointsman.config.settings.LogSettings.Level;
import java.util.List;
import java.util.Map;

/** Flags of the production stack's router for extensions, files, logs and traces. */
final class StackOperationFlags {
  static final String OTEL_ENDPOINT = "--otel-endpoint";
  static final String OTEL_SECURE = "--otel-secure";
  static final String LOG_STATS = "--log-stats";
  static final String LOG_STATS_INTERVAL = "--log-stats-interval";
  static final String BATCHES = "--enable-batch-api";
  static final String FILES = "--file-storage-path";

  private static final Map<String, Level> LEVELS =
      Map.of(
          "critical", Level.ERROR,
          "error", Level.ERROR,
          "warning", Level.WARN,
          "info", Level.INFO,
          "debug", Level.DEBUG,
          "trace", Level.DEBUG);

  private StackOperationFlags() {}

  static List<Flag> extensions(Wishes wishes) {
    return List.of(
        stack("--callbacks", "Python object that processes requests and responses")
            .refused(
                "the router does not run Python; check clients with auth.validation-urls, choose"
                    + " workers with a plug-in (docs/plug-ins.md), and change bodies in a proxy in"
                    + " front of the router"),
        stack("--request-rewriter", "request rewriter: noop")
            .standard("noop")
            .refused(
                "the original has no other one; rename models with --static-aliases, and change"
                    + " bodies in a proxy in front of the router"),
        stack(BATCHES, "file and batch API")
            .shape(Shape.SWITCH)
            .honoured(
                "the requests are really sent; files and batches survive a restart",
                (given, into) -> wishes.note(BATCHES)),
        stack("--file-storage-class", "type of the file storage")
            .standard("local_file")
            .honoured(only("local_file")),
        stack(FILES, "path of the file storage")
            .standard("/tmp/vllm_files")
            .honoured("the database of batches is there too", wishes.keep()),
        stack("--batch-processor", "batch processor").standard("local").honoured(only("local")),
        stack(ExternalProviders.FLAG, "file with external providers and their models")
            .honoured(
                "a provider is a worker with its own key; timeout, max_retries and custom_headers"
                    + " are not those of a provider",
                wishes.keep()),
        stack(
                "--feature-gates",
                "feature gates, for example SemanticCache=true or PIIDetection=true")
            .honoured(
                "a gate that is off is accepted; a gate that is on is refused",
                StackOperationFlags::gates),
        stack("--semantic-cache-model", "model of the semantic cache")
            .standard("all-MiniLM-L6-v2")
            .idle("needs the gate SemanticCache, which is not supported"),
        stack("--semantic-cache-dir", "directory of the semantic cache")
            .standard("semantic_cache")
            .idle("needs the gate SemanticCache, which is not supported"),
        stack("--semantic-cache-threshold", "similarity threshold of the semantic cache")
            .standard("0.95")
            .idle("needs the gate SemanticCache, which is not supported"),
        stack(DynamicConfig.YAML, "configuration file that is read every 10 s")
            .honoured(
                "read every 2 s and on SIGHUP; flags win; changes apply at once; keys that need a"
                    + " restart: docs/operate.md",
                wishes.keep()),
        stack(DynamicConfig.JSON, "configuration as JSON that is read every 10 s")
            .honoured("as --dynamic-config-yaml, which wins over it", wishes.keep()));
  }

  static List<Flag> operation(Wishes wishes) {
    return List.of(
        stack("--engine-stats-interval", "seconds between scrapes of engine metrics")
            .standard("30")
            .idle("load is the current number of requests in flight", number(1)),
        stack("--request-stats-window", "time window in seconds for request statistics")
            .standard("60")
            .idle("load is the current number of requests in flight", number(1)),
        stack(LOG_STATS, "log statistics")
            .shape(Shape.SWITCH)
            .idle("statistics are available as metrics", (given, into) -> wishes.note(LOG_STATS)),
        stack(LOG_STATS_INTERVAL, "seconds between logged statistics")
            .standard("10")
            .idle("statistics are available as metrics", wishes.keep()),
        stack("--log-level", "lowest level that is logged")
            .standard("info")
            .honoured("critical means error, trace means debug", StackOperationFlags::level),
        stack("--log-format", "text or json")
            .standard("text")
            .honoured(StackOperationFlags::format),
        stack("--sentry-dsn", "Sentry address for error reports")
            .refused(
                "the router sends nothing to Sentry; use traces (--otel-endpoint), the log"
                    + " (--log-format json) and the metrics of errors"),
        stack("--sentry-traces-sample-rate", "share of traces sent to Sentry")
            .standard("0.1")
            .idle("needs --sentry-dsn", StackOperationFlags::share),
        stack("--sentry-profile-session-sample-rate", "share of profiles sent to Sentry")
            .standard("1.0")
            .idle("needs --sentry-dsn", StackOperationFlags::share),
        stack(OTEL_ENDPOINT, "host:port of an OTLP collector (gRPC)")
            .honoured("one span per request and one per attempt", wishes.keep()),
        stack("--otel-service-name", "service name of the router in traces")
            .standard("vllm-router")
            .honoured(Translation.as(TracingKeys.SERVICE_NAME)),
        stack(OTEL_SECURE, "use TLS for traces")
            .shape(Shape.SWITCH)
            .honoured((given, into) -> wishes.note(OTEL_SECURE)),
        stack("--version", "print the version")
            .shape(Shape.SWITCH)
            .idle("the command prints it and exits"));
  }

  private static Effect.Action only(String value) {
    return (given, into) -> {
      if (!given.value().equals(value)) {
        into.problem(given, given.value(), value);
      }
    };
  }

  /** Checks a whole number of at least {@code least}. */
  static Effect.Action number(int least) {
    return (given, into) -> into.whole(given, least, Integer.MAX_VALUE);
  }

  /**
   * Checks the interval of statistics as the original does: any whole number, and above 0 if
   * statistics are logged.
   */
  static void settle(Wishes wishes, Translation into) {
    if (wishes.has(LOG_STATS_INTERVAL)) {
      number(wishes.has(LOG_STATS) ? 1 : Integer.MIN_VALUE)
          .apply(wishes.as(LOG_STATS_INTERVAL), into);
    }
  }

  private static void share(Given given, Translation into) {
    try {
      double share = Double.parseDouble(given.value());
      if (share >= 0 && share <= 1) {
        return;
      }
    } catch (NumberFormatException e) {
      // Reported below, like a share out of range.
    }
    into.problem(given, given.value(), "0 to 1");
  }

  private static void gates(Given given, Translation into) {
    for (String gate : given.value().split(",", -1)) {
      if (!gate.isBlank() && !gate.strip().endsWith("=false")) {
        into.problem(given, gate.strip(), "gates that are off, for example Name=false");
      }
    }
  }

  private static void level(Given given, Translation into) {
    Level level = LEVELS.get(given.value());
    if (level == null) {
      into.problem(given, given.value(), "critical, error, warning, info, debug, trace");
    } else {
      into.values().set(OperationKeys.LOG_LEVEL, level);
    }
  }

  private static void format(Given given, Translation into) {
    switch (given.value()) {
      case "text" -> into.values().set(OperationKeys.LOG_FORMAT, Format.TEXT);
      case "json" -> into.values().set(OperationKeys.LOG_FORMAT, Format.JSON);
      default -> into.problem(given, given.value(), "text or json");
    }
  }
}
