package io.pointsman.tool.sim.schedule;

import io.soabase.recordbuilder.core.RecordBuilder;

/**
 * Capacity and queue limits of one engine.
 *
 * @param kvBlocks KV memory in blocks, at least 1
 * @param blockSize tokens per block, at least 1
 * @param maxRunning maximum sequences in the batch, at least 1
 * @param maxBatchedTokens maximum tokens per step, at least 1; longer prompts are computed in
 *     chunks
 * @param maxModelLen maximum of prompt and output together, in tokens; the KV capacity limits it
 *     further
 * @param maxQueuedRequests running and waiting sequences at which requests are rejected; 0: no
 *     limit
 * @param maxQueuedTokens prompt tokens before prefill at which requests are rejected; 0: no limit
 * @param rules rules for forming its steps
 */
@RecordBuilder
public record EngineLimits(
    int kvBlocks,
    int blockSize,
    int maxRunning,
    int maxBatchedTokens,
    int maxModelLen,
    int maxQueuedRequests,
    long maxQueuedTokens,
    StepRules rules)
    implements EngineLimitsBuilder.With {
  /**
   * 400,000 tokens of KV in blocks of 16, 256 sequences, steps of 8,192 tokens, no queue limits.
   */
  public static final EngineLimits DEFAULT = new EngineLimits(25_000, 16, 256, 8192, 131_072, 0, 0);

  /** Uses chunked prefill, a prefix cache and one token per step. */
  public EngineLimits(
      int kvBlocks,
      int blockSize,
      int maxRunning,
      int maxBatchedTokens,
      int maxModelLen,
      int maxQueuedRequests,
      long maxQueuedTokens) {
    this(
        kvBlocks,
        blockSize,
        maxRunning,
        maxBatchedTokens,
        maxModelLen,
        maxQueuedRequests,
        maxQueuedTokens,
        StepRules.DEFAULT);
  }

  /** Rejects values out of range. */
  public EngineLimits {
    require("kv-blocks", kvBlocks, 1);
    require("block-size", blockSize, 1);
    require("max-running", maxRunning, 1);
    require("max-num-batched-tokens", maxBatchedTokens, 1);
    require("max-model-len", maxModelLen, 1);
    require("max-num-queued-reqs", maxQueuedRequests, 0);
    require("max-num-queued-tokens", maxQueuedTokens, 0);
  }

  /** KV memory in tokens. */
  public long capacityTokens() {
    return (long) kvBlocks * blockSize;
  }

  /** Maximum of prompt and output together that this engine can serve, in tokens. */
  public int longestRequest() {
    return (int) Math.min(maxModelLen, capacityTokens());
  }

  private static void require(String name, long value, long least) {
    if (value < least) {
      throw new IllegalArgumentException(
          name + ": " + value + " (expected: at least " + least + ")");
    }
  }
}
