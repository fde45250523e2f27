package io.pointsman.engine.kv;

import org.jspecify.annotations.Nullable;

/**
 * One change of an engine's KV cache, as it announced it. Block ids are the engine's own: equal for
 * equal blocks of one engine, without meaning to others; ids of more than eight bytes are folded.
 * Arrays belong to the event and are not changed.
 */
public sealed interface KvEvent {
  /**
   * Blocks that follow each other were computed or brought in.
   *
   * @param blocks their ids, in the order of the prompt
   * @param parent the block before the first; null at the start of a prompt
   * @param tokens token ids of all of them, {@code blockSize} each
   * @param blockSize tokens of a block; positive
   * @param adapter name of the LoRA adapter that they were computed with; null for the base model
   * @param plain whether tokens and adapter are all that they depend on: false for blocks with
   *     multimodal content, a salt, a sliding window or an attention group other than the first,
   *     which count as memory in use but match no prompt
   */
  @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
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
  @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
  record Removed(long[] blocks, KvTier tier) implements KvEvent {}

  /** Everything left all tiers. */
  record Cleared() implements KvEvent {}
}
