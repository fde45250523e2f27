package io.pointsman.sim.live;

import java.util.List;

/**
 * What a request asks of the engine, whatever API it came by.
 *
 * @param model the name it used
 * @param prompts token ids, at least one prompt, each of at least one token
 * @param choices answers per prompt, at least 1
 * @param outputTokens length of each answer; 0: prefill only
 * @param stopsByItself whether the length was the engine's choice, which makes the finish reason
 *     {@code stop}
 * @param seed of the answers
 * @param cacheSalt text that must be equal for prefixes to be shared; empty: none
 */
public record Generation(
    String model,
    List<int[]> prompts,
    int choices,
    int outputTokens,
    boolean stopsByItself,
    long seed,
    String cacheSalt) {
  /** Copies the list of prompts. */
  public Generation {
    prompts = List.copyOf(prompts);
  }

  /** What else must be equal for prefixes to be shared: the model and the cache salt. */
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
