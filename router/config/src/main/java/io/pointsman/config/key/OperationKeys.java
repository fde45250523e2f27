package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.bytes;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.config.settings.CaptureSettings;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.config.settings.MetricsSettings;
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
          "Maximum time that streams continue after the router receives the signal to stop.",
          "`0`: streams end at once. The value must be lower than the orchestrator's grace period"
              + " (30 s in Kubernetes); otherwise the orchestrator ends the streams without an"
              + " error message.");

  public static final Key<Duration> DRAIN_DELAY =
      Key.of(
          "drain-delay",
          duration(Duration.ZERO, Duration.ofHours(1)),
          ProxySettings.DEFAULTS.drainDelay(),
          "Time for which the router still accepts connections and requests after the signal to"
              + " stop. Meanwhile `/readiness` answers 503, and each response announces that its"
              + " connection closes. This time is part of `drain-timeout`.",
          "`0`: the port closes at once, and late clients are refused. Use 5s or more behind a load"
              + " balancer or a Kubernetes Service.");

  public static final Key<Integer> THREADS =
      Key.of(
          "event-loop-threads",
          integer(0, 1024),
          ListenSettings.DEFAULTS.eventLoops(),
          "Number of event loop threads, which transfer all data.",
          "`0`: one per processor. A higher value only costs memory.");

  public static final Key<Transport> TRANSPORT =
      Key.of(
          "transport",
          constant(Transport.class),
          ListenSettings.DEFAULTS.transport(),
          "Socket API of the operating system.",
          "`auto`: the first of io_uring (Linux 6.12 and newer), epoll and nio that the system"
              + " supports.");

  public static final Key<Boolean> SYSTEM_SCHEDULING =
      Key.of(
          "system-scheduling",
          bool(),
          true,
          "Change the scheduling of the operating system for the router: naps of busy event loops,"
              + " short time slices, a higher niceness of compiler threads, large pages.",
          "`false`: the router changes none of them. See docs/operate.md, \"Scheduling\".");

  public static final Key<Boolean> METRICS_ENABLED =
      Key.of(
          "metrics.enabled",
          bool(),
          MetricsSettings.DEFAULTS.enabled(),
          "Serve Prometheus metrics on a port of their own.",
          "`false`: this port is not opened. A reload that sets it closes the port with its"
              + " connections. The router counts on, so counters continue after a later `true`.");

  public static final Key<String> METRICS_HOST =
      Key.of(
          "metrics.host",
          text("<host>", "a host name or address", false),
          MetricsSettings.DEFAULTS.host(),
          "Address or host name of the metrics port.",
          "The default accepts connections from this machine only.");

  public static final Key<Integer> METRICS_PORT =
      Key.of(
          "metrics.port",
          integer(0, 65_535),
          MetricsSettings.DEFAULTS.port(),
          "Port for metrics.",
          "`0`: the system chooses a free port, and the router logs it.");

  public static final Key<Boolean> METRICS_VLLM_NAMES =
      Key.of(
          "metrics.vllm-router-names",
          bool(),
          MetricsSettings.DEFAULTS.vllmRouterNames(),
          "Also provide metrics under the names of vllm-router.",
          "`true` adds a few series for each worker. After a reload that sets it, counts that only"
              + " these names have begin at 0.");

  public static final Key<Boolean> METRICS_LIKE_STACK =
      Key.of(
          "metrics.like-production-stack",
          bool(),
          MetricsSettings.DEFAULTS.likeProductionStack(),
          "Also provide metrics as the router of the vLLM production stack does: under its names,"
              + " and with `GET /metrics` on the client port.",
          "`true`: every client can read them. After a reload that sets it, counts that only these"
              + " names have begin at 0.");

  public static final Key<LogSettings.Level> LOG_LEVEL =
      Key.of(
          "log.level",
          constant(LogSettings.Level.class),
          LogSettings.DEFAULTS.level(),
          "Lowest level that is logged.",
          "`debug` logs each connection problem. `error` hides health changes.");

  public static final Key<LogSettings.Format> LOG_FORMAT =
      Key.of(
          "log.format",
          constant(LogSettings.Format.class),
          LogSettings.DEFAULTS.format(),
          "Format of the log: `text`, or `json` with one object per line.",
          "The log never contains a prompt or a key.");

  public static final Key<String> LOG_DIRECTORY =
      Key.of(
          "log.directory",
          text("<dir>", "a directory", true),
          LogSettings.DEFAULTS.directory(),
          "Directory for log files, in addition to standard error. The file is `pointsman.log`; a"
              + " new one starts each day.",
          "Empty: no files. The files take at most 1 GiB; the oldest are deleted first.");

  public static final Key<Boolean> LOG_REQUESTS =
      Key.of(
          "log.requests",
          bool(),
          LogSettings.DEFAULTS.requests(),
          "Write a line at level `info` for each choice of a worker, in the form of"
              + " production-stack: `Routing request ID with session id SESSION to URL at TIME,"
              + " process time = SECONDS`.",
          "`true`: the log grows by about 150 bytes per request, and contains session ids.");

  public static final Key<LogSettings.Access> LOG_ACCESS =
      Key.of(
          "log.access",
          constant(LogSettings.Access.class),
          LogSettings.DEFAULTS.access(),
          "Write a line at level `info` at the end of a request: client, method, path, model,"
              + " worker, status, bytes, tokens, times, and the reason of a refusal. `errors`: only"
              + " for requests with an error. `all`: for all requests. With `log.format: json`,"
              + " each value is a member of the object.",
          "`all`: the log grows by about 250 bytes per request. The lines contain no prompt, no key"
              + " and no session.");

  public static final Key<Double> LOG_ACCESS_SAMPLE =
      Key.of(
          "log.access-sample",
          decimal(0, 1),
          LogSettings.DEFAULTS.accessSample(),
          "Share of the requests without an error that get a line with `log.access: all`. Requests"
              + " with an error always get one.",
          "`0`: as `log.access: errors`.");

  public static final Key<Boolean> LOG_AUDIT =
      Key.of(
          "log.audit",
          bool(),
          LogSettings.DEFAULTS.audit(),
          "Write a line at level `info` for each change through the router's own paths, for example"
              + " a worker that is added, and for refused keys. At most 20 lines a second.",
          "`false`: such acts leave no trace unless `log.access` is `all`.");

  public static final Key<String> CAPTURE_FILE =
      Key.of(
              "capture.file",
              text("<file>", "a file", true),
              CaptureSettings.DEFAULTS.file(),
              "File for `pointsman replay`, with one JSON line per answered request: times,"
                  + " lengths, hashes of the prompt's blocks and the decision. It contains no"
                  + " text.",
              "Empty: nothing is written. A reader of the file can check whether a known text was"
                  + " among the prompts.")
          .flag("--trace-out");

  public static final Key<Long> CAPTURE_MAX_BYTES =
      Key.of(
              "capture.max-bytes",
              bytes(64L << 10, 1L << 36),
              CaptureSettings.DEFAULTS.maxBytes(),
              "Maximum size of a capture file. Then a new file starts.",
              "A prompt of 10,000 tokens takes about 4 KB.")
          .flag("--trace-out-max-bytes");

  public static final Key<Integer> CAPTURE_FILES =
      Key.of(
              "capture.files",
              integer(1, 1000),
              CaptureSettings.DEFAULTS.files(),
              "Number of capture files to keep. Older files have a number after their name.",
              "`1`: the file starts again each time it is full.")
          .flag("--trace-out-files");

  private OperationKeys() {}

  static List<Key<?>> all() {
    return List.of(
        DRAIN_TIMEOUT,
        DRAIN_DELAY,
        THREADS,
        TRANSPORT,
        SYSTEM_SCHEDULING,
        METRICS_ENABLED,
        METRICS_HOST,
        METRICS_PORT,
        METRICS_VLLM_NAMES,
        METRICS_LIKE_STACK,
        LOG_LEVEL,
        LOG_FORMAT,
        LOG_DIRECTORY,
        LOG_REQUESTS,
        LOG_ACCESS,
        LOG_ACCESS_SAMPLE,
        LOG_AUDIT,
        CAPTURE_FILE,
        CAPTURE_MAX_BYTES,
        CAPTURE_FILES);
  }
}
