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
 * @param mergedModels whether the list of models is the router's own, of all workers; otherwise one
 *     worker is asked for it
 */
public record AdminSettings(
    boolean enabled, Duration addTimeout, int dataParallelSize, boolean mergedModels) {
  public static final AdminSettings DEFAULTS =
      new AdminSettings(true, Duration.ofMinutes(10), 1, true);

  public AdminSettings {
    requireNonNull(addTimeout, "addTimeout");
    if (dataParallelSize < 1) {
      throw new IllegalArgumentException(
          "dataParallelSize: " + dataParallelSize + " (expected: >= 1)");
    }
  }
}
