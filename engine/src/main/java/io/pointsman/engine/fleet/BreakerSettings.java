package io.pointsman.engine.fleet;

import java.time.Duration;

/**
 * When a worker that fails is left alone, and for how long.
 *
 * @param enabled whether failures open the breaker at all
 * @param failureThreshold failures in a row that open it; at least 1. A refused connection counts
 *     as half of them, so two in a row open it.
 * @param successThreshold successful probes in a row that close it again; at least 1
 * @param openFor how long it stays open before one request is let through as a probe
 * @param window failures further apart than this do not add up
 */
public record BreakerSettings(
    boolean enabled,
    int failureThreshold,
    int successThreshold,
    Duration openFor,
    Duration window) {

  public static final BreakerSettings DEFAULTS =
      new BreakerSettings(true, 10, 3, Duration.ofSeconds(60), Duration.ofSeconds(120));

  public BreakerSettings {
    if (failureThreshold < 1) {
      throw new IllegalArgumentException(
          "failureThreshold: " + failureThreshold + " (expected: >= 1)");
    }
    if (successThreshold < 1) {
      throw new IllegalArgumentException(
          "successThreshold: " + successThreshold + " (expected: >= 1)");
    }
    if (!openFor.isPositive()) {
      throw new IllegalArgumentException("openFor: " + openFor + " (expected: > 0)");
    }
    if (!window.isPositive()) {
      throw new IllegalArgumentException("window: " + window + " (expected: > 0)");
    }
  }
}
