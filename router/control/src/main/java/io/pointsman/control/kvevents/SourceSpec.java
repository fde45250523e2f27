package io.pointsman.control.kvevents;

import static java.util.Objects.requireNonNull;

import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.ZmqAddress;
import io.pointsman.control.kvevents.wire.EventBatch;
import org.jspecify.annotations.Nullable;

/**
 * The publisher of one rank of an engine.
 *
 * @param rank data-parallel rank, from 0
 * @param anyRank true if batches may contain any rank; an engine that is one rank of a larger group
 *     writes that rank, which a configuration of its only publisher need not contain
 * @param events its PUB socket
 * @param replay its ROUTER socket for replays; null if there is none
 * @param topic exact topic of its messages
 * @param connects true if the engine reports this address without a wildcard. vLLM and SGLang bind
 *     only addresses with one; to others their PUB sockets connect.
 */
public record SourceSpec(
    int rank,
    boolean anyRank,
    ZmqAddress events,
    @Nullable ZmqAddress replay,
    String topic,
    boolean connects) {
  /** Upper bound of ranks, exclusive. */
  public static final int MOST_RANKS = KvEventSettings.MOST_RANKS;

  public SourceSpec {
    requireNonNull(events, "events");
    requireNonNull(topic, "topic");
    if (rank < 0 || rank >= MOST_RANKS) {
      throw new IllegalArgumentException(
          "rank: " + rank + " (expected: 0 to " + (MOST_RANKS - 1) + ")");
    }
  }

  /** A source with batches that contain its rank or no rank. */
  public SourceSpec(int rank, ZmqAddress events, @Nullable ZmqAddress replay, String topic) {
    this(rank, false, events, replay, topic, false);
  }

  /** A source on a bound socket. */
  public SourceSpec(
      int rank, boolean anyRank, ZmqAddress events, @Nullable ZmqAddress replay, String topic) {
    this(rank, anyRank, events, replay, topic, false);
  }

  /** True if a batch with this rank belongs to this source. */
  boolean accepts(int reported) {
    return anyRank || reported == rank || reported == EventBatch.NO_RANK;
  }

  /** This source, with {@code host} in endpoints that have no host. */
  SourceSpec at(String host) {
    return new SourceSpec(
        rank, anyRank, events.at(host), replay == null ? null : replay.at(host), topic, connects);
  }
}
