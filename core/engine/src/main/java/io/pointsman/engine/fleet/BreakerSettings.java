package io.pointsman.engine.fleet;

import java.time.Duration;

/**
 * Settings of a worker's circuit breaker.
 *
 * @param enabled true if failures can open the breaker
 * @param failureThreshold consecutive failures that open it; at least 1. A refused connection
 *     counts as half of the threshold, so two in a row open it.
 * @param successThreshold consecutive successful probes that close it; at least 1
 * @param openFor time in the open state before one request is admitted as a probe; more than 0
 * @param window longest time between two failures that count together; more than 0
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
