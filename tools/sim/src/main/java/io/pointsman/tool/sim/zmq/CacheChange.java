package io.pointsman.tool.sim.zmq;

import io.pointsman.tool.sim.cache.PromptOrigin;

/** One change of the prefix cache, for a KV event. */
public sealed interface CacheChange {
  /**
   * Blocks of a prompt have become findable.
   *
   * @param hashes of the whole prompt's blocks
   * @param from index of the first new block
   * @param to index after the last new block
   */
  @SuppressWarnings("ArrayRecordComponent") // passed on, never compared
  record Stored(PromptOrigin origin, long[] hashes, int from, int to) implements CacheChange {}

  /** A block is no longer findable. */
  record Removed(long hash) implements CacheChange {}

  /** A block of a prompt is on the further tier. */
  @SuppressWarnings("ArrayRecordComponent") // passed on, never compared
  record Offloaded(PromptOrigin origin, long[] hashes, int block) implements CacheChange {}

  /** A block has left the further tier. */
  record Dropped(long hash) implements CacheChange {}

  /** No block is findable any more. */
  record Cleared() implements CacheChange {}
}
