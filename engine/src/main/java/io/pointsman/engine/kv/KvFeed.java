package io.pointsman.engine.kv;

import io.pointsman.engine.fleet.Worker;

/**
 * Hears what workers announce of their caches, in order for each worker and rank. Called on the
 * threads that read the announcements, one at a time for each worker; must not block.
 */
public interface KvFeed {
  /**
   * The events of one announcement.
   *
   * @param rank the data-parallel rank whose cache it is; 0 if there are no ranks
   */
  void apply(Worker worker, int rank, Iterable<? extends KvEvent> events);

  /** Why what was announced counts no more, though the engine may hold it still. */
  enum Cause {
    /** Announcements were missed that nobody can repeat. */
    MISSED,
    /** Nobody follows the rank any more, until it is heard of again. */
    GONE
  }

  /** What was announced until now counts no more. */
  void reset(Worker worker, int rank, Cause cause);

  /**
   * The engine has certainly started anew: what was announced until now counts no more, and nothing
   * is held of what was placed there before.
   *
   * @param lostUntil the last moment, by the ticker, at which it may still have been the engine
   *     that is gone: what was placed after it has come to the new one
   */
  void restarted(Worker worker, int rank, long lostUntil);

  /**
   * Whether announcements are complete from here on. While those of any of its ranks that was heard
   * of are not (the source is away, or has not answered yet), a worker's cache is known from
   * placements only.
   */
  void live(Worker worker, int rank, boolean live);
}
