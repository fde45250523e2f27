package io.pointsman.tool.sim.schedule;

/**
 * The kind of an engine: a model on its accelerators, and the engine's configuration.
 *
 * @param name value of {@code --profile}, and of {@code --engine} of a replay
 * @param description for help texts and tables
 * @param latency model of its step times
 * @param rules rules for forming its steps
 * @param stepTokens maximum tokens of a step
 * @param batch maximum sequences in the batch
 * @param kvTokens KV memory, in tokens
 */
public record ServiceProfile(
    String name,
    String description,
    SimLatencyModel latency,
    StepRules rules,
    int stepTokens,
    int batch,
    int kvTokens) {
  /**
   * Returns the limits of an engine of this kind, without a queue limit.
   *
   * @param kvBlocks KV memory in blocks
   * @param blockSize tokens per block
   * @param maxModelLen maximum of prompt and output together, in tokens
   */
  public EngineLimits limits(int kvBlocks, int blockSize, int maxModelLen) {
    return new EngineLimits(kvBlocks, blockSize, batch, stepTokens, maxModelLen, 0, 0, rules);
  }
}
