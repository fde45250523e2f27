package io.pointsman.engine.fleet;

import java.time.Duration;

/**
 * How long a worker with requests in flight may show no progress before it is taken out of choice.
 *
 * @param enabled whether stalls are looked for at all
 * @param patience silence that needs no explanation
 * @param perThousandTokens further silence allowed for every 1,000 prompt tokens that are
 *     dispatched and not yet answered
 * @param most bound of the whole allowance
 */
public record StallSettings(
    boolean enabled, Duration patience, Duration perThousandTokens, Duration most) {

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
    if (most.compareTo(patience) < 0) {
      throw new IllegalArgumentException(
          "most: " + most + " (expected: >= patience, " + patience + ")");
    }
  }

  /** The silence allowed with {@code pendingTokens} prompt tokens unanswered, in nanoseconds. */
  long allowedNanos(long pendingTokens) {
    long explained = perThousandTokens.toNanos() / 1000 * Math.max(pendingTokens, 0);
    return Math.min(patience.toNanos() + explained, most.toNanos());
  }
}
