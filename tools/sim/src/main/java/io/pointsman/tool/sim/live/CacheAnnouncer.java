package io.pointsman.tool.sim.live;

import org.jspecify.annotations.Nullable;

/** Publishes changes of an engine's prefix cache as KV events. Used on its event loop. */
public interface CacheAnnouncer {
  /**
   * The endpoints of its events.
   *
   * @param rank the data-parallel rank that it reports
   * @param endpoint of the PUB socket, {@code tcp://host:port}
   * @param replayEndpoint of the ROUTER socket that repeats batches; null: none
   * @param topic of its messages
   * @param bufferedBatches number of batches that can be repeated
   * @param amongArguments true if the engine reports all this only among its arguments, like SGLang
   */
  record Place(
      int rank,
      String endpoint,
      @Nullable String replayEndpoint,
      String topic,
      int bufferedBatches,
      boolean amongArguments) {}

  /** The current endpoints. */
  Place place();

  /** Number of batches published since the start. */
  long batches();

  /**
   * Sets the faults from now on.
   *
   * @throws IllegalArgumentException if a share is not 0 to 1, or the delay is negative
   */
  void faults(double loss, long delayMillis, double reorder, int replayed);

  /** Restarts: drops the cache without an event, and numbers batches from 0. */
  void restart();
}
