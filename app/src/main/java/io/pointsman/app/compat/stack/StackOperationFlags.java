package io.pointsman.app.compat.stack;

import static io.pointsman.app.compat.stack.StackFlags.stack;

import io.pointsman.app.compat.Flag;
import io.pointsman.app.compat.Flag.Shape;
import io.pointsman.app.compat.Given;
import io.pointsman.app.compat.Translation;
import io.pointsman.app.config.key.OperationKeys;
import io.pointsman.app.config.key.TracingKeys;
import io.pointsman.app.logging.LogSettings.Format;
import io.pointsman.app.logging.LogSettings.Level;
import java.util.List;
import java.util.Map;

/** Flags of the production stack's router for extensions, files, logs and traces. */
final class StackOperationFlags {
  static final String OTEL_ENDPOINT = "--otel-endpoint";
  static final String OTEL_SECURE = "--otel-secure";

  private static final Map<String, Level> LEVELS =
      Map.of(
          "critical", Level.ERROR,
          "error", Level.ERROR,
          "warning", Level.WARN,
          "info", Level.INFO,
          "debug", Level.DEBUG,
          "trace", Level.DEBUG);

  private StackOperationFlags() {}

  static List<Flag> extensions() {
    return List.of(
        stack("--callbacks", "a Python object that sees requests and answers")
            .refused("there is no Python in this process"),
        stack("--request-rewriter", "what changes bodies: noop")
            .standard("noop")
            .refused("bodies are passed on as they came"),
        stack("--enable-batch-api", "files and batches")
            .shape(Shape.SWITCH)
            .refused("there are no files and batches; a batch API can stand in front"),
        stack("--file-storage-class", "how files are kept")
            .standard("local_file")
            .idle("there are no files without --enable-batch-api"),
        stack("--file-storage-path", "where files are kept")
            .standard("/tmp/vllm_files")
            .idle("there are no files without --enable-batch-api"),
        stack("--batch-processor", "what runs batches")
            .standard("local")
            .idle("there are no batches without --enable-batch-api"),
        stack("--external-providers-config", "a file that names other providers and their models")
            .refused(
                "requests go to engines of one kind; for one provider there is vllm-router"
                    + " --backend openai"),
        stack("--feature-gates", "SemanticCache, PIIDetection and the like, as Name=true")
            .honoured("gates that are off; any that is on is refused", StackOperationFlags::gates),
        stack("--semantic-cache-model", "model of the semantic cache")
            .standard("all-MiniLM-L6-v2")
            .idle("the gate SemanticCache cannot be on"),
        stack("--semantic-cache-dir", "its folder")
            .standard("semantic_cache")
            .idle("the gate SemanticCache cannot be on"),
        stack("--semantic-cache-threshold", "its threshold")
            .standard("0.95")
            .idle("the gate SemanticCache cannot be on"),
        stack("--dynamic-config-yaml", "a file that is read again every 10 s")
            .refused("pointsman serve reads a file, and again on SIGHUP"),
        stack("--dynamic-config-json", "the same as JSON")
            .refused("pointsman serve reads a file, and again on SIGHUP"));
  }

  static List<Flag> operation(Wishes wishes) {
    return List.of(
        stack("--engine-stats-interval", "seconds between scrapes of the engines")
            .standard("30")
            .idle("load is requests in flight, known at every moment"),
        stack("--request-stats-window", "seconds over which requests are counted")
            .standard("60")
            .idle("load is requests in flight, known at every moment"),
        stack("--log-stats", "figures in the log")
            .shape(Shape.SWITCH)
            .idle("the figures are metrics"),
        stack("--log-stats-interval", "seconds between them")
            .standard("10")
            .idle("the figures are metrics"),
        stack("--log-level", "least severe level that is logged")
            .standard("info")
            .honoured("critical means error, trace means debug", StackOperationFlags::level),
        stack("--log-format", "text or json")
            .standard("text")
            .honoured(StackOperationFlags::format),
        stack("--sentry-dsn", "where faults are reported")
            .refused("faults are told in the log and in metrics"),
        stack("--sentry-traces-sample-rate", "share of its traces")
            .standard("0.1")
            .idle("nothing is sent without --sentry-dsn"),
        stack("--sentry-profile-session-sample-rate", "share of its profiles")
            .standard("1.0")
            .idle("nothing is sent without --sentry-dsn"),
        stack(OTEL_ENDPOINT, "host:port that takes traces by OTLP over gRPC")
            .honoured("one span for each request and each attempt", wishes.keep()),
        stack("--otel-service-name", "how the router is called in traces")
            .standard("vllm-router")
            .honoured(Translation.as(TracingKeys.SERVICE_NAME)),
        stack(OTEL_SECURE, "by TLS")
            .shape(Shape.SWITCH)
            .honoured((given, into) -> wishes.note(OTEL_SECURE)),
        stack("--version", "tells the version").shape(Shape.SWITCH).idle("told by the command"));
  }

  private static void gates(Given given, Translation into) {
    for (String gate : given.value().split(",", -1)) {
      if (!gate.isBlank() && !gate.strip().endsWith("=false")) {
        into.problem(given, gate.strip(), "gates that are off, as Name=false");
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
