package io.pointsman.sim.schedule;

/**
 * The kind of an engine: a model on its accelerators, and how the engine is set up.
 *
 * @param name of {@code --profile}, and of {@code --engine} of a replay
 * @param description for help texts and tables
 * @param latency how long its steps take
 * @param rules how it forms steps
 * @param stepTokens tokens of a step at most
 * @param batch sequences in the batch at most
 * @param kvTokens KV memory, in tokens
 */
public record ServiceProfile(
    String name,
    String description,
    LatencyModel latency,
    StepRules rules,
    int stepTokens,
    int batch,
    int kvTokens) {
  /**
   * Limits of an engine of this kind, without a limit of its queue.
   *
   * @param kvBlocks KV memory in blocks
   * @param blockSize tokens of a block
   * @param maxModelLen longest prompt and output together, in tokens
   */
  public EngineLimits limits(int kvBlocks, int blockSize, int maxModelLen) {
    return new EngineLimits(kvBlocks, blockSize, batch, stepTokens, maxModelLen, 0, 0, rules);
  }
}
