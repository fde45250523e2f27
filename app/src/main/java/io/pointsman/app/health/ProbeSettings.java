package io.pointsman.app.health;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import java.util.List;

/**
 * How engines are probed.
 *
 * @param endpoint path that answers 2xx while the engine is well; starts with a slash
 * @param alsoGood statuses beside 2xx that say that it is well too, such as 401 of a server that
 *     wants a key
 * @param interval time between two probes of a worker that is well
 * @param timeout longest a probe may take, connecting included
 * @param firstRetry time to the next probe after a failed one; doubles with each further one
 * @param mostRetry longest time to the next probe of a worker that is not well
 * @param parallelism most probes at once
 * @param modelsInterval time between two looks at the models that a worker serves; zero to look
 *     once, at the first good probe
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

  /** Whether a probe that is answered with {@code status} is a good one. */
  boolean good(int status) {
    return status / 100 == 2 || alsoGood.contains(status);
  }
}
