package io.pointsman.app.kvevents;

import static java.util.Objects.requireNonNull;

import io.pointsman.app.kvevents.wire.Endpoint;
import java.time.Duration;

/**
 * Whether and where the router hears of the workers' caches.
 *
 * @param mode how publishers are found
 * @param endpoint where rank 0 of each engine publishes, {@code tcp://host:port}, where the host
 *     {@code *} is the worker's and other ranks add their number to the port; empty: only workers
 *     with a label of their own
 * @param replayEndpoint likewise for repeated batches; empty: there is none
 * @param topic of messages at these endpoints, exactly
 * @param ranks data-parallel ranks of each engine at these endpoints, 1 to {@link
 *     SourceSpec#MOST_RANKS}; a worker that is a rank has but its own
 * @param refresh how often engines are asked where they publish, at least 100 ms
 * @param limits what one source may cost
 */
public record KvEventSettings(
    Mode mode,
    String endpoint,
    String replayEndpoint,
    String topic,
    int ranks,
    Duration refresh,
    KvEventLimits limits) {
  /** The label of a worker with its endpoints, separated by blanks; the first is that of rank 0. */
  public static final String EVENTS_LABEL = "kv-events";

  /** The label of a worker with its replay endpoints, likewise. */
  public static final String REPLAY_LABEL = "kv-events-replay";

  /** How publishers are found. */
  public enum Mode {
    /** Not at all. */
    OFF,
    /** By asking engines, but for workers with a label. */
    AUTO,
    /** By labels of workers and by configured endpoints. */
    STATIC
  }

  public static final KvEventSettings DEFAULTS =
      new KvEventSettings(Mode.OFF, "", "", "", 1, Duration.ofSeconds(30), KvEventLimits.DEFAULTS);

  public KvEventSettings {
    requireNonNull(mode, "mode");
    requireNonNull(topic, "topic");
    requireNonNull(limits, "limits");
    check("endpoint", endpoint, ranks);
    check("replayEndpoint", replayEndpoint, ranks);
    if (ranks < 1 || ranks > SourceSpec.MOST_RANKS) {
      throw new IllegalArgumentException(
          "ranks: " + ranks + " (expected: 1 to " + SourceSpec.MOST_RANKS + ")");
    }
    if (endpoint.isEmpty() && !replayEndpoint.isEmpty()) {
      throw new IllegalArgumentException(
          "replayEndpoint: set without an endpoint (expected: both or neither)");
    }
    if (!endpoint.isEmpty() && mode != Mode.STATIC) {
      throw new IllegalArgumentException(
          "endpoint: set while the mode is not static (expected: kv-events.mode: static)");
    }
    if (refresh.compareTo(Duration.ofMillis(100)) < 0) {
      throw new IllegalArgumentException("refresh: " + refresh + " (expected: at least 100 ms)");
    }
  }

  private static void check(String name, String endpoint, int ranks) {
    if (!endpoint.isEmpty() && Endpoint.of(endpoint).port() + ranks - 1 > 65_535) {
      throw new IllegalArgumentException(
          name + ": " + endpoint + " (expected: ports up to 65535 for all ranks)");
    }
  }
}
