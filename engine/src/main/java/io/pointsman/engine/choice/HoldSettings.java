package io.pointsman.engine.choice;

import java.time.Duration;

/**
 * Bounds of what is held for other planes.
 *
 * @param maxLeases most leases held at once; 1 to 1,048,576. Twice as many places are kept to tell
 *     late settlements from unknown ones: about 60 bytes each once used, 200 with an id of its
 *     plane's.
 * @param standardTtl how long a lease is held without a sign of life, if its plane does not say;
 *     more than 0, at most {@code maxTtl}
 * @param maxTtl the longest that a plane may ask for; short ones give lost places back sooner
 * @param maxLifetime how long a lease is held in all, however often it is renewed; at least {@code
 *     maxTtl}
 */
public record HoldSettings(
    int maxLeases, Duration standardTtl, Duration maxTtl, Duration maxLifetime) {

  /** The bound of {@link #maxLeases}. */
  public static final int MOST_LEASES = 1 << 20;

  public static final HoldSettings DEFAULTS =
      new HoldSettings(65_536, Duration.ofSeconds(30), Duration.ofMinutes(10), Duration.ofHours(6));

  public HoldSettings {
    if (maxLeases < 1 || maxLeases > MOST_LEASES) {
      throw new IllegalArgumentException(
          "maxLeases: " + maxLeases + " (expected: 1 to " + MOST_LEASES + ")");
    }
    if (!standardTtl.isPositive() || standardTtl.compareTo(maxTtl) > 0) {
      throw new IllegalArgumentException(
          "standardTtl: " + standardTtl + " (expected: > 0, at most maxTtl, " + maxTtl + ")");
    }
    if (maxLifetime.compareTo(maxTtl) < 0) {
      throw new IllegalArgumentException(
          "maxLifetime: " + maxLifetime + " (expected: >= maxTtl, " + maxTtl + ")");
    }
  }
}
