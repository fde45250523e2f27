package io.pointsman.engine.choice;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a plane knows of a request that has ended.
 *
 * @param tokens as the engine counted them
 * @param ttft from the choice to the first token of a stream; at least 0, at most 1 day; null if it
 *     is not known, the answer was no stream, or {@link Choices#firstToken} has said it
 */
public record EndReport(TokenCounts tokens, @Nullable Duration ttft) {
  /** Nothing is known. */
  public static final EndReport NONE = new EndReport(TokenCounts.NONE, null);

  /** The bound of {@link #ttft}. */
  public static final Duration LONGEST_TTFT = Duration.ofDays(1);

  public EndReport {
    requireNonNull(tokens, "tokens");
    if (ttft != null && (ttft.isNegative() || ttft.compareTo(LONGEST_TTFT) > 0)) {
      throw new IllegalArgumentException(
          "ttft: " + ttft + " (expected: at least 0, at most " + LONGEST_TTFT + ")");
    }
  }
}
