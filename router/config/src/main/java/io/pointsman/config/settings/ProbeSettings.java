package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import java.util.List;

/**
 * Settings of health probes.
 *
 * @param endpoint path that answers 2xx while the engine is healthy; starts with a slash
 * @param alsoGood further statuses of a healthy engine, for example 401 of a server that requires a
 *     key
 * @param interval time between probes of a healthy worker
 * @param timeout maximum duration of a probe, including the connection
 * @param firstRetry pause after the first failed probe; doubles after each further one
 * @param mostRetry maximum pause between probes of an unhealthy worker
 * @param parallelism maximum number of concurrent probes
 * @param modelsInterval time between reads of a worker's models; zero: only at the first good probe
 */
public record ProbeSettings(
    String endpoint,
    List<Integer> alsoGood,
    Duration interval,
    Duration timeout,
    Duration firstRetry,
    Duration mostRetry,
    int parallelism,
    Duration modelsInterval) {

  public static final ProbeSettings DEFAULTS =
      new ProbeSettings(
          "/health",
          List.of(),
          Duration.ofSeconds(10),
          Duration.ofSeconds(5),
          Duration.ofMillis(250),
          Duration.ofSeconds(1),
          256,
          Duration.ofSeconds(60));

  public ProbeSettings {
    alsoGood = List.copyOf(alsoGood);
    requireNonNull(modelsInterval, "modelsInterval");
    if (!endpoint.startsWith("/")) {
      throw new IllegalArgumentException("endpoint: " + endpoint + " (expected: /path)");
    }
    if (!interval.isPositive()) {
      throw new IllegalArgumentException("interval: " + interval + " (expected: > 0)");
    }
    if (!timeout.isPositive()) {
      throw new IllegalArgumentException("timeout: " + timeout + " (expected: > 0)");
    }
    if (!firstRetry.isPositive()) {
      throw new IllegalArgumentException("firstRetry: " + firstRetry + " (expected: > 0)");
    }
    if (mostRetry.compareTo(firstRetry) < 0) {
      throw new IllegalArgumentException(
          "mostRetry: " + mostRetry + " (expected: >= firstRetry, " + firstRetry + ")");
    }
    if (parallelism < 1) {
      throw new IllegalArgumentException("parallelism: " + parallelism + " (expected: >= 1)");
    }
  }

  /** True if a probe with this status is good. */
  public boolean good(int status) {
    return status / 100 == 2 || alsoGood.contains(status);
  }
}
