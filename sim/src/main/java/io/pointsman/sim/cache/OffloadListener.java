package io.pointsman.sim.cache;

/** Hears which blocks are on a further tier; called on the engine's event loop. */
public interface OffloadListener {
  /** A block of a prompt is there from here on. */
  void offloaded(PromptOrigin origin, long[] hashes, int block);

  /** A block has left the tier. */
  void dropped(long hash);
}
