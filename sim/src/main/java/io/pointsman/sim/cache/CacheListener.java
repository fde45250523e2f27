package io.pointsman.sim.cache;

/** Hears which blocks can be found; called on the engine's event loop. */
public interface CacheListener {
  /** Hears nothing. */
  CacheListener NONE =
      new CacheListener() {
        @Override
        public void stored(PromptOrigin origin, long[] hashes, int from, int to) {}

        @Override
        public void removed(long hash) {}

        @Override
        public void cleared() {}
      };

  /** The blocks {@code from} to before {@code to} of a prompt can be found from here on. */
  void stored(PromptOrigin origin, long[] hashes, int from, int to);

  /** A block has been evicted. */
  void removed(long hash);

  /** All blocks have been forgotten at once. */
  void cleared();
}
