package io.pointsman.proxy.retry;

import java.time.Duration;

/**
 * Settings of the memory of requests after which engines failed.
 *
 * @param entries maximum number of remembered requests; 0 for no memory
 * @param ttl time during which a request is refused after its last failure; more than 0
 */
public record PoisonSettings(int entries, Duration ttl) {
  public static final PoisonSettings DEFAULTS = new PoisonSettings(1024, Duration.ofSeconds(60));

  /** No memory. */
  public static final PoisonSettings OFF = new PoisonSettings(0, DEFAULTS.ttl);

  public PoisonSettings {
    if (entries < 0) {
      throw new IllegalArgumentException("entries: " + entries + " (expected: >= 0)");
    }
    if (!ttl.isPositive()) {
      throw new IllegalArgumentException("ttl: " + ttl + " (expected: > 0)");
    }
  }
}
