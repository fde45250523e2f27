package io.pointsman.engine.choice;

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

  private static void check(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }
}
