package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bool;
import static io.pointsman.app.config.value.ValueTypes.decimal;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.durationOrOff;
import static io.pointsman.app.config.value.ValueTypes.integer;
import static io.pointsman.app.config.value.ValueTypes.text;

import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.upstream.UpstreamSettings;
import java.time.Duration;
import java.util.List;

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
          "Whether a request that failed before its first byte is tried on another worker.",
          "false hands every failure to the client, but one that is none of the worker's: a request"
              + " that met a kept connection just as the worker closed it (it broke within a"
              + " second, before any byte of an answer) goes once more to the same worker.");

  public static final Key<Integer> RETRY_ATTEMPTS =
      Key.of(
          "retry.max-attempts",
          integer(1, 100),
          RETRY.maxAttempts(),
          "Most attempts of one request, the first included; each on another worker.",
          "1 is no retry; large keeps clients waiting while a whole fleet fails.");

  public static final Key<Duration> RETRY_INITIAL_BACKOFF =
      Key.of(
          "retry.initial-backoff",
          duration(Duration.ZERO, DAY),
          RETRY.initialBackoff(),
          "Pause before the second attempt; none after a refused connection or a busy worker.",
          "Short hits the next worker at once; long adds to the client's wait.");

  public static final Key<Duration> RETRY_MAX_BACKOFF =
      Key.of(
          "retry.max-backoff",
          duration(MILLI, DAY),
          RETRY.maxBackoff(),
          "Longest pause between attempts, and longest Retry-After of an engine that is honoured;"
              + " at least retry.initial-backoff.",
          "Long keeps clients waiting.");

  public static final Key<Double> RETRY_MULTIPLIER =
      Key.of(
          "retry.backoff-multiplier",
          decimal(1, 100),
          RETRY.multiplier(),
          "Factor by which each pause is longer than the one before.",
          "1 keeps pauses equal; large reaches retry.max-backoff at once.");

  public static final Key<Double> RETRY_JITTER =
      Key.of(
          "retry.jitter-factor",
          decimal(0, 1),
          RETRY.jitter(),
          "Share of a pause that is left to chance, either way.",
          "0 lets requests that failed together come back together.");

  public static final Key<Double> RETRY_BUDGET =
      Key.of(
          "retry.budget-share",
          decimal(0, 1),
          RETRY.budgetShare(),
          "Retries allowed for each request, as a share; retry.budget-per-second comes on top."
              + " What about ten seconds have earned may be made at once: a worker that falls"
              + " silent leaves the requests of seconds behind.",
          "Small gives up early when a worker dies; 1 lets a failing fleet see double traffic in"
              + " the long run, and a multiple of that for seconds.");

  public static final Key<Double> RETRY_PER_SECOND =
      Key.of(
          "retry.budget-per-second",
          decimal(0, 1_000_000),
          RETRY.budgetPerSecond(),
          "Retries per second allowed whatever the traffic. Half a minute's worth of them may be"
              + " made at once, divided among the event loops, but by each as many as"
              + " retry.max-attempts.",
          "0 leaves the first requests without retries, and light traffic with its share alone.");

  public static final Key<Boolean> RETRY_AFTER_TIMEOUT =
      Key.of(
          "retry.after-timeout",
          bool(),
          RETRY.afterTimeout(),
          "Whether a request is tried again when timeouts.first-byte has passed.",
          "true may generate the same answer twice: the first engine may still be at it.");

  public static final Key<Boolean> RETRY_AFTER_LATE_RESET =
      Key.of(
          "retry.after-late-reset",
          bool(),
          RETRY.afterLateReset(),
          "Whether a request is tried again, once, whose connection broke before an answer, more"
              + " than a second after it was sent.",
          "true hides engines that die from clients that do not stream; false generates no answer"
              + " twice, and a request that kills engines meets only one of them.");

  public static final Key<Duration> CONNECT_TIMEOUT =
      Key.of(
          "timeouts.connect",
          duration(MILLI, Duration.ofHours(1)),
          UPSTREAM.connectTimeout(),
          "Longest wait for a connection to an engine.",
          "Short gives up on far hosts; long delays the retry on another worker.");

  public static final Key<Duration> FIRST_BYTE_TIMEOUT =
      Key.of(
          "timeouts.first-byte",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.firstByte(),
          "Longest silence before the head of an answer, and from there before the first byte of"
              + " its body, or of a stream the first event that is computed (not response.created;"
              + " each such event and comment begins it anew).",
          "Must exceed queueing and prefill of the longest prompt, also where the engine sends the"
              + " head of a stream before them; without streaming, the whole generation.");

  public static final Key<Duration> IDLE_TIMEOUT =
      Key.of(
          "timeouts.idle",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.idle(),
          "Longest silence within an answer, from where timeouts.first-byte ends.",
          "Short breaks streams of engines that pause; off holds dead streams until TCP gives up.");

  public static final Key<Duration> TOTAL_TIMEOUT =
      Key.of(
          "timeouts.total",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.total(),
          "Longest a request may take whose answer is not a stream of events.",
          "Short cuts long generations off.");

  public static final Key<Duration> STREAM_TOTAL_TIMEOUT =
      Key.of(
          "timeouts.stream-total",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.streamTotal(),
          "Longest a request may take whose answer is a stream of events. While its body still"
              + " comes, timeouts.total bounds it too.",
          "Short cuts long generations off.");

  public static final Key<Duration> CLIENT_HEAD_TIMEOUT =
      Key.of(
          "timeouts.client-head",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.clientHead(),
          "Longest a client may take to send the head of a request.",
          "off lets idle strangers hold connections.");

  public static final Key<Duration> CLIENT_BODY_TIMEOUT =
      Key.of(
          "timeouts.client-body",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.clientBody(),
          "Longest silence of a client within the body of a request.",
          "off lets idle strangers hold memory.");

  public static final Key<Duration> CLIENT_IDLE_TIMEOUT =
      Key.of(
          "timeouts.client-idle",
          durationOrOff(MILLI, DAY),
          TIMEOUTS.clientIdle(),
          "How long a client's connection is kept between requests, or while the client does not"
              + " read its answer.",
          "Short makes clients connect anew; off lets dead clients hold connections, but for 30 s"
              + " only those that are to be closed behind an answer.");

  public static final Key<Duration> POOL_IDLE =
      Key.of(
          "pool.idle-timeout",
          durationOrOff(MILLI, DAY),
          UPSTREAM.poolIdleTimeout(),
          "How long an unused connection to an engine is kept.",
          "Longer than the engine keeps it (5 s with most) costs a reconnect, which clients do not"
              + " see; off makes a new connection for every request.");

  public static final Key<Integer> POOL_MAX_IDLE =
      Key.of(
          "pool.max-idle-per-worker",
          integer(0, 65_536),
          UPSTREAM.maxIdlePerWorker(),
          "Unused connections kept for each worker, by each event loop.",
          "Small makes bursts connect anew.");

  public static final Key<Duration> NAME_TTL =
      Key.of(
          "pool.name-ttl",
          duration(Duration.ZERO, DAY),
          UPSTREAM.nameTtl(),
          "How long the address of a worker's name is used before it is looked up again.",
          "Long keeps sending to a moved worker.");

  public static final Key<String> API_KEY =
      Key.of(
              "api-key",
              text("<key>", "a key", true),
              "",
              "Sent to engines as bearer token with probes, and with requests that bring no"
                  + " Authorization of their own.",
              "Empty sends none.")
          .secret();

  public static final Key<Boolean> API_KEY_REPLACES =
      Key.of(
          "api-key-replaces",
          bool(),
          UPSTREAM.keys().replace(),
          "Whether the key for engines takes the place of a client's Authorization.",
          "true lets clients with keys of their own, or with any, reach engines that know one key"
              + " only; engines then see nobody's own.");

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
        API_KEY,
        API_KEY_REPLACES);
  }
}
