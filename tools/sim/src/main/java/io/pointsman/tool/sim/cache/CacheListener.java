package io.pointsman.tool.sim.cache;

/** Receives changes of the findable blocks; called on the engine's event loop. */
public interface CacheListener {
  /** Ignores all changes. */
  CacheListener NONE =
      new CacheListener() {
        @Override
        public void stored(PromptOrigin origin, long[] hashes, int from, int to) {}

        @Override
        public void removed(long hash) {}

        @Override
        public void cleared() {}
      };

  /**
   * The blocks {@code from} (inclusive) to {@code to} (exclusive) of a prompt have become findable.
   */
  void stored(PromptOrigin origin, long[] hashes, int from, int to);

  /** A block has been evicted. */
  void removed(long hash);

  /** All blocks have been dropped at once. */
  void cleared();
}
