package io.pointsman.engine.choice;

import io.pointsman.engine.fleet.Usage;

/**
 * Tokens of one request, as its engine counted them.
 *
 * @param prompt tokens of the prompt; at least 0, which says that they are not known
 * @param cached how many of them came from the engine's cache; 0 to {@code prompt}, or {@link
 *     #NOT_TOLD}
 * @param completion tokens of the answer; at least 0, as for the prompt
 */
public record TokenCounts(long prompt, long cached, long completion) {
  /** In place of {@link #cached} where the plane does not know it. */
  public static final long NOT_TOLD = -1;

  /** Nothing was told. */
  public static final TokenCounts NONE = new TokenCounts(0, NOT_TOLD, 0);

  public TokenCounts {
    check("prompt", prompt);
    check("completion", completion);
    if (cached != NOT_TOLD && (cached < 0 || cached > prompt)) {
      throw new IllegalArgumentException(
          "cached: " + cached + " (expected: 0 to prompt, " + prompt + ")");
    }
  }

  /** The same for those who learn from answers. */
  Usage usage() {
    boolean told = prompt > 0 && cached != NOT_TOLD;
    return new Usage(known(prompt), told ? whole(cached) : -1, known(completion));
  }

  private static int known(long told) {
    return told == 0 ? -1 : whole(told);
  }

  private static int whole(long told) {
    return (int) Math.min(told, Integer.MAX_VALUE);
  }

  private static void check(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }
}
