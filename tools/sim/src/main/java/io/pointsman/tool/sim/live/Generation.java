package io.pointsman.tool.sim.live;

import java.util.List;

/**
 * The generation that a request asks for, independent of its API.
 *
 * @param model the name in the request
 * @param prompts token ids, at least one prompt, each of at least one token
 * @param choices responses per prompt, at least 1
 * @param outputTokens length of each response; 0: prefill only
 * @param stopsByItself true if the engine chose the length; the finish reason is then {@code stop}
 * @param seed of the responses
 * @param cacheSalt text that must be equal for common prefixes; empty: none
 */
public record Generation(
    String model,
    List<int[]> prompts,
    int choices,
    int outputTokens,
    boolean stopsByItself,
    long seed,
    String cacheSalt) {
  public Generation {
    prompts = List.copyOf(prompts);
  }

  /** Hash of model and cache salt, which must be equal for common prefixes. */
  public long salt() {
    return model.hashCode() * 31L + cacheSalt.hashCode();
  }

  /** {@code stop} or {@code length}. */
  public String finishReason() {
    return stopsByItself ? "stop" : "length";
  }

  /** Prompt tokens of all prompts. */
  public int promptTokens() {
    int total = 0;
    for (int[] prompt : prompts) {
      total += prompt.length;
    }
    return total;
  }
}
