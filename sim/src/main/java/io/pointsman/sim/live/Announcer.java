package io.pointsman.sim.live;

import org.jspecify.annotations.Nullable;

/** How an engine announces changes of its prefix cache. Used on its event loop. */
public interface Announcer {
  /**
   * Where it announces them.
   *
   * @param rank the data-parallel rank that it says it is
   * @param endpoint of the PUB socket, {@code tcp://host:port}
   * @param replayEndpoint of the ROUTER socket that repeats batches; null: none
   * @param topic of its messages
   * @param bufferedBatches batches that can be repeated
   * @param amongArguments whether the engine tells all this among its arguments only, as SGLang
   */
  record Place(
      int rank,
      String endpoint,
      @Nullable String replayEndpoint,
      String topic,
      int bufferedBatches,
      boolean amongArguments) {}

  /** Where it announces them now. */
  Place place();

  /** Batches announced since it has started. */
  long batches();

  /**
   * What goes wrong from here on.
   *
   * @throws IllegalArgumentException if a share is not 0 to 1, or the delay is negative
   */
  void faults(double loss, long delayMillis, double reorder);

  /** Starts anew: the cache is forgotten without a word, and batches are counted from 0. */
  void restart();
}
