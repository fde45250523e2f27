package io.pointsman.engine.fleet;

/**
 * How many probes in a row change a worker's health.
 *
 * @param failureThreshold failed probes in a row after which a healthy worker is unhealthy; at
 *     least 1
 * @param successThreshold good probes in a row after which an unhealthy worker is healthy; at least
 *     1. One good probe is enough for a worker that was never healthy, however many of its probes
 *     failed so far, and for one that was put out by a refused connection.
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
