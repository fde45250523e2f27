package io.pointsman.engine.fleet;

/**
 * Numbers of consecutive probes that change a worker's health.
 *
 * @param failureThreshold consecutive failed probes that make a healthy worker unhealthy; at least
 *     1
 * @param successThreshold consecutive successful probes that make an unhealthy worker healthy; at
 *     least 1. One is enough for a worker that was never healthy, and after a refused connection.
 */
public record HealthSettings(int failureThreshold, int successThreshold) {

  public static final HealthSettings DEFAULTS = new HealthSettings(3, 2);

  public HealthSettings {
    if (failureThreshold < 1) {
      throw new IllegalArgumentException(
          "failureThreshold: " + failureThreshold + " (expected: >= 1)");
    }
    if (successThreshold < 1) {
      throw new IllegalArgumentException(
          "successThreshold: " + successThreshold + " (expected: >= 1)");
    }
  }
}
