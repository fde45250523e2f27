package io.pointsman.engine.kv;

import io.pointsman.engine.fleet.Worker;

/**
 * Receives the workers' KV events, in order for each worker and rank. Called on the reading
 * threads, sequentially for each worker; must not block.
 */
public interface KvFeed {
  /**
   * Applies the events of one message.
   *
   * @param rank data-parallel rank of the cache; 0 without ranks
   */
  void apply(Worker worker, int rank, Iterable<? extends KvEvent> events);

  /** The reason why earlier events become invalid although the engine may still hold the blocks. */
  enum Cause {
    /** Events were missed and cannot be replayed. */
    MISSED,
    /** The subscription of the rank has ended. */
    GONE
  }

  /** Discards the state from earlier events. */
  void reset(Worker worker, int rank, Cause cause);

  /**
   * Discards the state after a certain engine restart. Blocks of earlier placements are lost too.
   *
   * @param lostUntil latest ticker time at which the old engine may have run; later placements
   *     reached the new engine
   */
  void restarted(Worker worker, int rank, long lostUntil);

  /**
   * Sets whether the event stream is complete from here on. While the stream of any followed rank
   * is incomplete, placements alone describe the worker's cache.
   */
  void live(Worker worker, int rank, boolean live);
}
