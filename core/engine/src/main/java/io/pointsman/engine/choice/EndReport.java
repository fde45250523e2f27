package io.pointsman.engine.choice;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * An external proxy's report on a finished request.
 *
 * @param tokens token counts as reported by the inference engine
 * @param ttft time from the choice to the first token of a stream, 0 to 1 day. Null if unknown, if
 *     the response was no stream, or if {@link Choices#firstToken} reported it.
 * @param clientLeft true if the client left before a byte of the response. This is evidence of a
 *     stall.
 */
public record EndReport(TokenCounts tokens, @Nullable Duration ttft, boolean clientLeft) {
  /** A report without data. */
  public static final EndReport NONE = new EndReport(TokenCounts.NONE, null);

  /** A report of a request without an early departure of its client. */
  public EndReport(TokenCounts tokens, @Nullable Duration ttft) {
    this(tokens, ttft, false);
  }

  /** Maximum of {@link #ttft}. */
  public static final Duration LONGEST_TTFT = Duration.ofDays(1);

  public EndReport {
    requireNonNull(tokens, "tokens");
    if (ttft != null && (ttft.isNegative() || ttft.compareTo(LONGEST_TTFT) > 0)) {
      throw new IllegalArgumentException(
          "ttft: " + ttft + " (expected: at least 0, at most " + LONGEST_TTFT + ")");
    }
  }
}
