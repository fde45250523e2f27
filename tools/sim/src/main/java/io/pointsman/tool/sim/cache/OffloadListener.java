package io.pointsman.tool.sim.cache;

/** Receives changes of the blocks on a further tier; called on the engine's event loop. */
public interface OffloadListener {
  /** A block of a prompt has been stored on the tier. */
  void offloaded(PromptOrigin origin, long[] hashes, int block);

  /** A block has left the tier. */
  void dropped(long hash);
}
