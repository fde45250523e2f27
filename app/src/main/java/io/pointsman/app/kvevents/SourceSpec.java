package io.pointsman.app.kvevents;

import static java.util.Objects.requireNonNull;

import io.pointsman.app.kvevents.wire.Endpoint;
import org.jspecify.annotations.Nullable;

/**
 * Where one rank of an engine announces what it stores.
 *
 * @param rank the data-parallel rank, from 0
 * @param events its PUB socket
 * @param replay the ROUTER socket that repeats batches; null if there is none
 * @param topic of its messages, exactly
 */
public record SourceSpec(int rank, Endpoint events, @Nullable Endpoint replay, String topic) {
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

  /** The same where endpoints without a host are those of {@code host}. */
  SourceSpec at(String host) {
    return new SourceSpec(rank, events.at(host), replay == null ? null : replay.at(host), topic);
  }
}
