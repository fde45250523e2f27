package io.pointsman.app.kvevents;

import static java.util.Objects.requireNonNull;

import io.pointsman.app.kvevents.wire.Endpoint;
import io.pointsman.app.kvevents.wire.EventBatch;
import org.jspecify.annotations.Nullable;

/**
 * Where one rank of an engine announces what it stores.
 *
 * @param rank the data-parallel rank, from 0
 * @param anyRank whether its batches may say any other rank: an engine that is one rank of a wider
 *     group stamps them with that, and nobody need know it who names its only publisher
 * @param events its PUB socket
 * @param replay the ROUTER socket that repeats batches; null if there is none
 * @param topic of its messages, exactly
 */
public record SourceSpec(
    int rank, boolean anyRank, Endpoint events, @Nullable Endpoint replay, String topic) {
  /** Highest rank, and one more. */
  public static final int MOST_RANKS = 1024;

  public SourceSpec {
    requireNonNull(events, "events");
    requireNonNull(topic, "topic");
    if (rank < 0 || rank >= MOST_RANKS) {
      throw new IllegalArgumentException(
          "rank: " + rank + " (expected: 0 to " + (MOST_RANKS - 1) + ")");
    }
  }

  /** One whose batches say its rank, or none. */
  public SourceSpec(int rank, Endpoint events, @Nullable Endpoint replay, String topic) {
    this(rank, false, events, replay, topic);
  }

  /** Whether a batch that says {@code told} is this one's. */
  boolean accepts(int told) {
    return anyRank || told == rank || told == EventBatch.NO_RANK;
  }

  /** The same where endpoints without a host are those of {@code host}. */
  SourceSpec at(String host) {
    return new SourceSpec(
        rank, anyRank, events.at(host), replay == null ? null : replay.at(host), topic);
  }
}
