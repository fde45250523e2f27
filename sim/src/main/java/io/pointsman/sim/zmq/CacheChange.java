package io.pointsman.sim.zmq;

import io.pointsman.sim.cache.PromptOrigin;

/** One change of the prefix cache, to be announced. */
public sealed interface CacheChange {
  /**
   * Blocks of a prompt can be found.
   *
   * @param hashes of the whole prompt's blocks
   * @param from the first of them that is new
   * @param to the one after the last that is new
   */
  @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
  record Stored(PromptOrigin origin, long[] hashes, int from, int to) implements CacheChange {}

  /** A block cannot be found any more. */
  record Removed(long hash) implements CacheChange {}

  /** A block of a prompt is on the further tier. */
  @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
  record Offloaded(PromptOrigin origin, long[] hashes, int block) implements CacheChange {}

  /** A block has left the further tier. */
  record Dropped(long hash) implements CacheChange {}

  /** No block can be found any more. */
  record Cleared() implements CacheChange {}
}
