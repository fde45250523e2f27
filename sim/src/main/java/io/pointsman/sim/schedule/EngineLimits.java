package io.pointsman.sim.schedule;

/**
 * What one engine can hold and is willing to queue.
 *
 * @param kvBlocks KV memory in blocks, at least 1
 * @param blockSize tokens per block, at least 1
 * @param maxRunning sequences in the batch, at least 1
 * @param maxBatchedTokens tokens per step, at least 1; longer prompts are computed in chunks
 * @param maxModelLen longest prompt and output together, in tokens; the KV capacity bounds it
 *     further
 * @param maxQueuedRequests running and waiting sequences from which on requests are rejected; 0: no
 *     limit
 * @param maxQueuedTokens prompt tokens not yet prefilled from which on requests are rejected; 0: no
 *     limit
 * @param rules how it forms its steps
 */
public record EngineLimits(
    int kvBlocks,
    int blockSize,
    int maxRunning,
    int maxBatchedTokens,
    int maxModelLen,
    int maxQueuedRequests,
    long maxQueuedTokens,
    StepRules rules) {
  /**
   * 400,000 tokens of KV in blocks of 16, 256 sequences, steps of 8,192 tokens, no queue limits.
   */
  public static final EngineLimits DEFAULT = new EngineLimits(25_000, 16, 256, 8192, 131_072, 0, 0);

  /** With chunked prefill, a prefix cache and one token a step. */
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

  /** Refuses sizes that no engine can have. */
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

  /** Longest prompt and output together that this engine can ever serve, in tokens. */
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
