package io.pointsman.engine.fleet;

import io.soabase.recordbuilder.core.RecordBuilder;
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
 * @param maxEjectedShare maximum share of the workers of a model that breakers exclude at once, 0
 *     to 1. Below 1 they exclude at least one, but never the last one. 1 means no limit
 */
@RecordBuilder
public record BreakerSettings(
    boolean enabled,
    int failureThreshold,
    int successThreshold,
    Duration openFor,
    Duration window,
    double maxEjectedShare)
    implements BreakerSettingsBuilder.With {

  public static final BreakerSettings DEFAULTS =
      new BreakerSettings(true, 10, 3, Duration.ofSeconds(60), Duration.ofSeconds(120), 0.5);

  /** Settings without a limit of the share. */
  public BreakerSettings(
      boolean enabled,
      int failureThreshold,
      int successThreshold,
      Duration openFor,
      Duration window) {
    this(enabled, failureThreshold, successThreshold, openFor, window, 1);
  }

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
    if (!(maxEjectedShare >= 0 && maxEjectedShare <= 1)) {
      throw new IllegalArgumentException(
          "maxEjectedShare: " + maxEjectedShare + " (expected: 0 to 1)");
    }
  }
}
