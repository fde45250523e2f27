package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;
import java.util.List;

/**
 * Settings of the endpoints that the router answers itself.
 *
 * @param enabled true if workers can be listed, added and removed over HTTP
 * @param addTimeout maximum wait for the first good probe of an added worker
 * @param dataParallelSize number of data-parallel ranks of an added engine; each rank is one worker
 *     at the same URL; 1: one worker without a rank
 * @param mergedModels true: the router answers the list of models of all workers; false: one worker
 *     answers it
 * @param healthAnswer meaning of the answer to {@code GET /health}
 * @param refusedPaths paths of clients that the router answers with 501 instead of forwarding; each
 *     starts with a slash; compared after normalisation, without the query string
 * @param rayApplication application name in the response to {@code GET /-/routes}, as Ray Serve's
 *     proxies send it; empty: this path and {@code /-/healthz} go to the workers
 * @param controlTimeout maximum duration of a control call at one engine
 */
@RecordBuilder
public record AdminSettings(
    boolean enabled,
    Duration addTimeout,
    int dataParallelSize,
    boolean mergedModels,
    HealthAnswer healthAnswer,
    List<String> refusedPaths,
    String rayApplication,
    Duration controlTimeout)
    implements AdminSettingsBuilder.With {
  public static final AdminSettings DEFAULTS =
      new AdminSettings(
          true,
          Duration.ofMinutes(10),
          1,
          true,
          HealthAnswer.LIVE,
          List.of(),
          "",
          Duration.ofMinutes(10));

  public AdminSettings {
    requireNonNull(addTimeout, "addTimeout");
    requireNonNull(healthAnswer, "healthAnswer");
    requireNonNull(rayApplication, "rayApplication");
    refusedPaths = List.copyOf(refusedPaths);
    for (String path : refusedPaths) {
      if (!path.startsWith("/")) {
        throw new IllegalArgumentException("refusedPaths: " + path + " (expected: /path)");
      }
    }
    if (!controlTimeout.isPositive()) {
      throw new IllegalArgumentException("controlTimeout: " + controlTimeout + " (expected: > 0)");
    }
    if (dataParallelSize < 1) {
      throw new IllegalArgumentException(
          "dataParallelSize: " + dataParallelSize + " (expected: >= 1)");
    }
  }
}
