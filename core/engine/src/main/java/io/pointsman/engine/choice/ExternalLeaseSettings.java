package io.pointsman.engine.choice;

import java.time.Duration;

/**
 * Limits for leases held by external proxies.
 *
 * @param maxLeases maximum number of leases held at once; 1 to 1,048,576. The router keeps twice as
 *     many entries. A used entry takes about 60 bytes, or 200 bytes with a proxy's id.
 * @param standardTtl lease duration without renewal, if the proxy requests none; more than 0, at
 *     most {@code maxTtl}
 * @param maxTtl longest duration that a proxy may request; a short one releases abandoned leases
 *     earlier
 * @param maxLifetime maximum total duration of a lease including renewals; at least {@code maxTtl}
 * @param maxShare maximum share of {@code maxLeases} that one owner holds; above 0, at most 1
 * @param failureShare share of an owner's leases that may count as failures of workers; 0 to 1
 */
public record ExternalLeaseSettings(
    int maxLeases,
    Duration standardTtl,
    Duration maxTtl,
    Duration maxLifetime,
    double maxShare,
    double failureShare) {

  /** Maximum of {@link #maxLeases}. */
  public static final int MOST_LEASES = 1 << 20;

  public static final ExternalLeaseSettings DEFAULTS =
      new ExternalLeaseSettings(
          65_536, Duration.ofSeconds(30), Duration.ofMinutes(10), Duration.ofHours(6), 0.5, 0.5);

  /** Limits without shares. */
  public ExternalLeaseSettings(
      int maxLeases, Duration standardTtl, Duration maxTtl, Duration maxLifetime) {
    this(maxLeases, standardTtl, maxTtl, maxLifetime, 1, 1);
  }

  public ExternalLeaseSettings {
    if (maxLeases < 1 || maxLeases > MOST_LEASES) {
      throw new IllegalArgumentException(
          "maxLeases: " + maxLeases + " (expected: 1 to " + MOST_LEASES + ")");
    }
    if (!standardTtl.isPositive() || standardTtl.compareTo(maxTtl) > 0) {
      throw new IllegalArgumentException(
          "standardTtl: " + standardTtl + " (expected: > 0, at most maxTtl, " + maxTtl + ")");
    }
    if (!(maxShare > 0 && maxShare <= 1)) {
      throw new IllegalArgumentException("maxShare: " + maxShare + " (expected: > 0, at most 1)");
    }
    if (!(failureShare >= 0 && failureShare <= 1)) {
      throw new IllegalArgumentException("failureShare: " + failureShare + " (expected: 0 to 1)");
    }
    if (maxLifetime.compareTo(maxTtl) < 0) {
      throw new IllegalArgumentException(
          "maxLifetime: " + maxLifetime + " (expected: >= maxTtl, " + maxTtl + ")");
    }
  }

  /** Maximum number of leases of one owner, at least 1. */
  public int maxOfOwner() {
    return Math.max(1, (int) Math.floor(maxLeases * maxShare));
  }
}
