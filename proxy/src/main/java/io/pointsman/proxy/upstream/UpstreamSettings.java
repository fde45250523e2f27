package io.pointsman.proxy.upstream;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * How workers are connected to.
 *
 * @param connectTimeout longest time for a connection to come up, TLS included
 * @param poolIdleTimeout how long an unused connection is kept; 0 keeps none. Servers of engines
 *     close theirs after 5 s, so it should stay well below.
 * @param maxIdlePerWorker unused connections kept for each worker, by each event loop
 * @param maxHeadBytes largest head of an answer, at least 256; a larger one is a fault of the
 *     worker
 * @param nameTtl how long the address of a worker's name is used before it is looked up again
 * @param keys sent to workers as bearer tokens where the client sends no authorization
 */
public record UpstreamSettings(
    Duration connectTimeout,
    Duration poolIdleTimeout,
    int maxIdlePerWorker,
    int maxHeadBytes,
    Duration nameTtl,
    EngineKeys keys) {

  public static final UpstreamSettings DEFAULTS =
      new UpstreamSettings(
          Duration.ofSeconds(10),
          Duration.ofSeconds(2),
          256,
          64 << 10,
          Duration.ofSeconds(10),
          EngineKeys.NONE);

  public UpstreamSettings {
    if (!connectTimeout.isPositive() || connectTimeout.compareTo(Duration.ofHours(1)) > 0) {
      throw new IllegalArgumentException(
          "connectTimeout: " + connectTimeout + " (expected: > 0, at most 1 h)");
    }
    if (poolIdleTimeout.isNegative()) {
      throw new IllegalArgumentException(
          "poolIdleTimeout: " + poolIdleTimeout + " (expected: >= 0)");
    }
    if (maxIdlePerWorker < 0) {
      throw new IllegalArgumentException(
          "maxIdlePerWorker: " + maxIdlePerWorker + " (expected: >= 0)");
    }
    if (maxHeadBytes < 256) {
      throw new IllegalArgumentException("maxHeadBytes: " + maxHeadBytes + " (expected: >= 256)");
    }
    if (nameTtl.isNegative()) {
      throw new IllegalArgumentException("nameTtl: " + nameTtl + " (expected: >= 0)");
    }
    requireNonNull(keys, "keys");
  }

  /** The same with other bearer tokens. */
  public UpstreamSettings withKeys(EngineKeys others) {
    return new UpstreamSettings(
        connectTimeout, poolIdleTimeout, maxIdlePerWorker, maxHeadBytes, nameTtl, others);
  }

  /** The same with another connect timeout. */
  public UpstreamSettings withConnectTimeout(Duration timeout) {
    return new UpstreamSettings(
        timeout, poolIdleTimeout, maxIdlePerWorker, maxHeadBytes, nameTtl, keys);
  }

  /** The same with another pool timeout. */
  public UpstreamSettings withPoolIdleTimeout(Duration timeout) {
    return new UpstreamSettings(
        connectTimeout, timeout, maxIdlePerWorker, maxHeadBytes, nameTtl, keys);
  }
}
