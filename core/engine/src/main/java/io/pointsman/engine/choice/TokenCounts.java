package io.pointsman.engine.choice;

import io.pointsman.engine.fleet.Usage;

/**
 * Token counts of one request, as the inference engine reported them.
 *
 * @param prompt tokens of the prompt; 0 if unknown
 * @param cached prompt tokens found in the engine's cache; 0 to {@code prompt}, or {@link
 *     #NOT_REPORTED}
 * @param completion tokens of the response; 0 if unknown
 */
public record TokenCounts(long prompt, long cached, long completion) {
  /** The value of {@link #cached} if the proxy does not know it. */
  public static final long NOT_REPORTED = -1;

  /** No counts are known. */
  public static final TokenCounts NONE = new TokenCounts(0, NOT_REPORTED, 0);

  public TokenCounts {
    check("prompt", prompt);
    check("completion", completion);
    if (cached != NOT_REPORTED && (cached < 0 || cached > prompt)) {
      throw new IllegalArgumentException(
          "cached: " + cached + " (expected: 0 to prompt, " + prompt + ")");
    }
  }

  /** Converts the counts for learners; unknown counts become -1. */
  Usage usage() {
    boolean reported = prompt > 0 && cached != NOT_REPORTED;
    return new Usage(known(prompt), reported ? whole(cached) : -1, known(completion));
  }

  private static int known(long reported) {
    return reported == 0 ? -1 : whole(reported);
  }

  private static int whole(long reported) {
    return (int) Math.min(reported, Integer.MAX_VALUE);
  }

  private static void check(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }
}
