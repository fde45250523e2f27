package io.pointsman.app.admin;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import java.util.List;

/**
 * What may be done over HTTP while the router runs.
 *
 * @param enabled whether workers can be listed, added and removed on the port that clients use
 * @param addTimeout longest wait of a request that adds a worker for the worker's first good probe
 * @param dataParallelSize data-parallel ranks of an engine that is added: so many workers at one
 *     URL; 1 makes it a single worker without a rank
 * @param mergedModels whether the list of models is the router's own, of all workers; otherwise one
 *     worker is asked for it
 * @param healthOfWorkers whether {@code GET /health} tells of the workers; otherwise of the router
 * @param refusedPaths paths that are answered 501 by the router, compared exactly and without the
 *     query string, instead of being passed on to a worker; each starts with a slash
 * @param rayApplication name of the application of which {@code GET /-/routes} tells, as Ray
 *     Serve's proxies do; empty leaves that path and {@code /-/healthz} to the workers
 */
public record AdminSettings(
    boolean enabled,
    Duration addTimeout,
    int dataParallelSize,
    boolean mergedModels,
    boolean healthOfWorkers,
    List<String> refusedPaths,
    String rayApplication) {
  public static final AdminSettings DEFAULTS =
      new AdminSettings(true, Duration.ofMinutes(10), 1, true, true, List.of(), "");

  public AdminSettings {
    requireNonNull(addTimeout, "addTimeout");
    requireNonNull(rayApplication, "rayApplication");
    refusedPaths = List.copyOf(refusedPaths);
    for (String path : refusedPaths) {
      if (!path.startsWith("/")) {
        throw new IllegalArgumentException("refusedPaths: " + path + " (expected: /path)");
      }
    }
    if (dataParallelSize < 1) {
      throw new IllegalArgumentException(
          "dataParallelSize: " + dataParallelSize + " (expected: >= 1)");
    }
  }
}
