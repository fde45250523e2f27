package io.pointsman.engine.kv;

import org.jspecify.annotations.Nullable;

/**
 * One change of an engine's KV cache, as announced. Block ids are local to one engine: equal blocks
 * have equal ids. Ids of more than eight bytes are folded. Arrays belong to the event and must not
 * be changed.
 */
public sealed interface KvEvent {
  /**
   * Consecutive blocks were computed or loaded.
   *
   * @param blocks their ids, in prompt order
   * @param parent id of the block before the first; null at the start of a prompt
   * @param tokens token ids of all blocks, {@code blockSize} each
   * @param blockSize tokens of a block; positive
   * @param adapter name of the LoRA adapter; null for the base model
   * @param plain true if the blocks depend only on tokens and adapter. False for multimodal
   *     content, a salt, a sliding window or an attention group other than the first. These count
   *     as used memory, but match no prompt.
   */
  @SuppressWarnings("ArrayRecordComponent") // passed on, never compared
  record Stored(
      long[] blocks,
      @Nullable Long parent,
      int[] tokens,
      int blockSize,
      KvTier tier,
      @Nullable String adapter,
      boolean plain)
      implements KvEvent {}

  /** Blocks left a tier; they may still be on another. */
  @SuppressWarnings("ArrayRecordComponent") // passed on, never compared
  record Removed(long[] blocks, KvTier tier) implements KvEvent {}

  /** All blocks left all tiers. */
  record Cleared() implements KvEvent {}
}
