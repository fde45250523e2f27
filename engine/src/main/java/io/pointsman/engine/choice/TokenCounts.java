package io.pointsman.engine.choice;

import io.pointsman.engine.fleet.Usage;

/**
 * Tokens of one request, as its engine counted them.
 *
 * @param prompt tokens of the prompt; at least 0
 * @param cached how many of them came from the engine's cache; 0 to {@code prompt}
 * @param completion tokens of the answer; at least 0
 */
public record TokenCounts(long prompt, long cached, long completion) {
  /** Nothing was told. */
  public static final TokenCounts NONE = new TokenCounts(0, 0, 0);

  public TokenCounts {
    check("prompt", prompt);
    check("completion", completion);
    if (cached < 0 || cached > prompt) {
      throw new IllegalArgumentException(
          "cached: " + cached + " (expected: 0 to prompt, " + prompt + ")");
    }
  }

  /**
   * The same for those who learn from answers. What is 0 may not have been told: a hit that was
   * told to be none by mistake would pass for an engine that has lost its cache.
   */
  Usage usage() {
    return new Usage(known(prompt), known(cached), known(completion));
  }

  private static int known(long told) {
    return told == 0 ? -1 : (int) Math.min(told, Integer.MAX_VALUE);
  }

  private static void check(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }
}
