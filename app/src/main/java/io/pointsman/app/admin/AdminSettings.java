package io.pointsman.app.admin;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * What may be done over HTTP while the router runs.
 *
 * @param enabled whether workers can be listed, added and removed on the port that clients use
 * @param addTimeout longest wait of a request that adds a worker for the worker's first good probe
 * @param dataParallelSize data-parallel ranks of an engine that is added: so many workers at one
 *     URL; 1 makes it a single worker without a rank
 */
public record AdminSettings(boolean enabled, Duration addTimeout, int dataParallelSize) {
  public static final AdminSettings DEFAULTS = new AdminSettings(true, Duration.ofMinutes(10), 1);

  public AdminSettings {
    requireNonNull(addTimeout, "addTimeout");
    if (dataParallelSize < 1) {
      throw new IllegalArgumentException(
          "dataParallelSize: " + dataParallelSize + " (expected: >= 1)");
    }
  }
}
