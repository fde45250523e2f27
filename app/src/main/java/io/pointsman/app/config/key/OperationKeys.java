package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bool;
import static io.pointsman.app.config.value.ValueTypes.bytes;
import static io.pointsman.app.config.value.ValueTypes.constant;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.integer;
import static io.pointsman.app.config.value.ValueTypes.text;

import io.pointsman.app.capture.CaptureSettings;
import io.pointsman.app.logging.LogSettings;
import io.pointsman.app.metrics.MetricsSettings;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.Transport;
import java.time.Duration;
import java.util.List;

/** Keys of operation: shutdown, threads, metrics, log. */
public final class OperationKeys {
  public static final Key<Duration> DRAIN_TIMEOUT =
      Key.of(
          "drain-timeout",
          duration(Duration.ZERO, Duration.ofHours(24)),
          ProxySettings.DEFAULTS.drainTimeout(),
          "Longest that streams may go on after the router was told to stop.",
          "0 cuts them off at once; must be shorter than the orchestrator's grace period (30s in"
              + " Kubernetes), or it ends them without a word.");

  public static final Key<Duration> DRAIN_DELAY =
      Key.of(
          "drain-delay",
          duration(Duration.ZERO, Duration.ofHours(1)),
          ProxySettings.DEFAULTS.drainDelay(),
          "How long the router still takes connections and requests after it was told to stop,"
              + " while /readiness says 503 and each answer that its connection closes. A part of"
              + " drain-timeout.",
          "0 closes the port at once, and refuses whoever has not noticed; 5s or more behind a"
              + " load balancer or a Service of Kubernetes.");

  public static final Key<Integer> THREADS =
      Key.of(
          "event-loop-threads",
          integer(0, 1024),
          ListenSettings.DEFAULTS.eventLoops(),
          "Threads that move bytes.",
          "0 is one per processor; more only costs memory.");

  public static final Key<Transport> TRANSPORT =
      Key.of(
          "transport",
          constant(Transport.class),
          ListenSettings.DEFAULTS.transport(),
          "How sockets are waited for.",
          "auto takes the first of io_uring (Linux 6.12 and newer), epoll and nio that the system"
              + " allows.");

  public static final Key<Boolean> METRICS_ENABLED =
      Key.of(
          "metrics.enabled",
          bool(),
          MetricsSettings.DEFAULTS.enabled(),
          "Whether Prometheus metrics are served.",
          "false opens no second port.");

  public static final Key<String> METRICS_HOST =
      Key.of(
          "metrics.host",
          text("<host>", "a host name or address", false),
          MetricsSettings.DEFAULTS.host(),
          "Address of the metrics listener.",
          "The default is reached from this machine only.");

  public static final Key<Integer> METRICS_PORT =
      Key.of(
          "metrics.port",
          integer(0, 65_535),
          MetricsSettings.DEFAULTS.port(),
          "Port of the metrics listener.",
          "0 takes any free port and logs it.");

  public static final Key<Boolean> METRICS_VLLM_NAMES =
      Key.of(
          "metrics.vllm-router-names",
          bool(),
          MetricsSettings.DEFAULTS.vllmRouterNames(),
          "Whether metrics are offered under the names of vllm-router too.",
          "true adds a few series for each worker.");

  public static final Key<Boolean> METRICS_LIKE_STACK =
      Key.of(
          "metrics.like-production-stack",
          bool(),
          MetricsSettings.DEFAULTS.likeProductionStack(),
          "Whether metrics are offered as by the router of the vLLM production stack too: under its"
              + " names, and by GET /metrics on the port of the clients.",
          "true lets every client read them.");

  public static final Key<LogSettings.Level> LOG_LEVEL =
      Key.of(
          "log.level",
          constant(LogSettings.Level.class),
          LogSettings.DEFAULTS.level(),
          "The least severe level that is logged.",
          "debug logs each connection problem; error hides health changes.");

  public static final Key<LogSettings.Format> LOG_FORMAT =
      Key.of(
          "log.format",
          constant(LogSettings.Format.class),
          LogSettings.DEFAULTS.format(),
          "Lines for people, or one JSON object per line.",
          "Neither ever holds a prompt or a key.");

  public static final Key<String> LOG_DIRECTORY =
      Key.of(
          "log.directory",
          text("<dir>", "a directory", true),
          LogSettings.DEFAULTS.directory(),
          "Where the log is written too, in pointsman.log, with a new file each day.",
          "Empty writes no files; else they take 1 GiB at most, the oldest go first.");

  public static final Key<String> CAPTURE_FILE =
      Key.of(
              "capture.file",
              text("<file>", "a file", true),
              CaptureSettings.DEFAULTS.file(),
              "Where each answered request is written down for `pointsman replay`: one JSON line"
                  + " with times, lengths, hashes of the prompt's blocks and the decision; no"
                  + " text.",
              "Empty writes nothing. Whoever has the file can tell whether a text he knows was"
                  + " among the prompts.")
          .flag("--trace-out");

  public static final Key<Long> CAPTURE_MAX_BYTES =
      Key.of(
              "capture.max-bytes",
              bytes(64L << 10, 1L << 36),
              CaptureSettings.DEFAULTS.maxBytes(),
              "Most bytes of a file of captured requests; then a new one is begun.",
              "A prompt of 10,000 tokens takes about 4 KB.")
          .flag("--trace-out-max-bytes");

  public static final Key<Integer> CAPTURE_FILES =
      Key.of(
              "capture.files",
              integer(1, 1000),
              CaptureSettings.DEFAULTS.files(),
              "How many files of captured requests are kept; older ones have a number behind their"
                  + " names.",
              "1 begins the only file anew each time it is full.")
          .flag("--trace-out-files");

  private OperationKeys() {}

  static List<Key<?>> all() {
    return List.of(
        DRAIN_TIMEOUT,
        DRAIN_DELAY,
        THREADS,
        TRANSPORT,
        METRICS_ENABLED,
        METRICS_HOST,
        METRICS_PORT,
        METRICS_VLLM_NAMES,
        METRICS_LIKE_STACK,
        LOG_LEVEL,
        LOG_FORMAT,
        LOG_DIRECTORY,
        CAPTURE_FILE,
        CAPTURE_MAX_BYTES,
        CAPTURE_FILES);
  }
}
