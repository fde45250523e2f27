package io.pointsman.engine.fleet;

import java.time.Duration;

/**
 * Limits for the time without progress of a worker that has requests in flight. A worker beyond
 * them is excluded from choice.
 *
 * @param enabled true if stalls are detected
 * @param patience silence that is always allowed; more than 0
 * @param perThousandTokens additional silence for each 1,000 prompt tokens that are dispatched and
 *     unanswered; at least 0
 * @param maxPatience maximum of the total allowance; at least {@code patience}
 */
public record StallSettings(
    boolean enabled, Duration patience, Duration perThousandTokens, Duration maxPatience) {

  public static final StallSettings DEFAULTS =
      new StallSettings(
          true, Duration.ofSeconds(20), Duration.ofMillis(500), Duration.ofSeconds(120));

  public StallSettings {
    if (!patience.isPositive()) {
      throw new IllegalArgumentException("patience: " + patience + " (expected: > 0)");
    }
    if (perThousandTokens.isNegative()) {
      throw new IllegalArgumentException(
          "perThousandTokens: " + perThousandTokens + " (expected: >= 0)");
    }
    if (maxPatience.compareTo(patience) < 0) {
      throw new IllegalArgumentException(
          "max-patience: " + maxPatience + " (expected: >= patience, " + patience + ")");
    }
  }

  /** The allowed silence in nanoseconds with {@code pendingTokens} unanswered prompt tokens. */
  long allowedNanos(long pendingTokens) {
    return Math.min(patience.toNanos() + explainedNanos(pendingTokens), maxPatience.toNanos());
  }

  /** The silence in nanoseconds that {@code pendingTokens} unanswered prompt tokens explain. */
  long explainedNanos(long pendingTokens) {
    return perThousandTokens.toNanos() / 1000 * Math.max(pendingTokens, 0);
  }
}
