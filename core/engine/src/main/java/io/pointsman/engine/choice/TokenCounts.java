package io.pointsman.engine.choice;

import io.pointsman.engine.fleet.Usage;

/**
 * Token counts of one request, as the inference engine reported them.
 *
 * @param prompt tokens of the prompt; 0 if unknown
 * @param cached prompt tokens found in the engine's cache; 0 to {@code prompt}, or {@link
 *     #NOT_TOLD}
 * @param completion tokens of the response; 0 if unknown
 */
public record TokenCounts(long prompt, long cached, long completion) {
  /** The value of {@link #cached} if the proxy does not know it. */
  public static final long NOT_TOLD = -1;

  /** No counts are known. */
  public static final TokenCounts NONE = new TokenCounts(0, NOT_TOLD, 0);

  public TokenCounts {
    check("prompt", prompt);
    check("completion", completion);
    if (cached != NOT_TOLD && (cached < 0 || cached > prompt)) {
      throw new IllegalArgumentException(
          "cached: " + cached + " (expected: 0 to prompt, " + prompt + ")");
    }
  }

  /** Converts the counts for learners; unknown counts become -1. */
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
