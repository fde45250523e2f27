package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * Settings of the subscriptions to the workers' KV events.
 *
 * @param mode method of finding publishers
 * @param endpoint publisher of rank 0 of each engine, {@code tcp://host:port}; the host {@code *}
 *     is the worker's, other ranks add their number to the port; empty: only workers with a label
 * @param replayEndpoint replay endpoint in the same form; empty: none
 * @param topic exact topic of messages at these endpoints
 * @param ranks data-parallel ranks of each engine at these endpoints, 1 to {@link #MOST_RANKS}; a
 *     worker that is one rank uses only its own
 * @param refresh interval of queries to engines for their publishers, at least 100 ms
 * @param limits resource limits of one source
 */
public record KvEventSettings(
    Mode mode,
    String endpoint,
    String replayEndpoint,
    String topic,
    int ranks,
    Duration refresh,
    KvEventLimits limits) {
  /** Worker label with its endpoints, separated by blanks; the first belongs to rank 0. */
  public static final String EVENTS_LABEL = "kv-events";

  /** Worker label with its replay endpoints, in the same order. */
  public static final String REPLAY_LABEL = "kv-events-replay";

  /** Most data-parallel ranks of a worker. */
  public static final int MOST_RANKS = 1024;

  /** Method of finding publishers. */
  public enum Mode {
    /** No subscriptions. */
    OFF,
    /** Queries to engines, except for workers with a label. */
    AUTO,
    /** Labels of workers and configured endpoints. */
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
    if (ranks < 1 || ranks > MOST_RANKS) {
      throw new IllegalArgumentException(
          "ranks: " + ranks + " (expected: 1 to " + MOST_RANKS + ")");
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
    if (!endpoint.isEmpty() && ZmqAddress.of(endpoint).port() + ranks - 1 > 65_535) {
      throw new IllegalArgumentException(
          name + ": " + endpoint + " (expected: ports up to 65535 for all ranks)");
    }
  }
}
