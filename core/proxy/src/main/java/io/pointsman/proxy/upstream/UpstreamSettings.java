package io.pointsman.proxy.upstream;

import static java.util.Objects.requireNonNull;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;

/**
 * Settings of the connections to workers.
 *
 * @param connectTimeout maximum time to open a connection, including TLS
 * @param poolIdleTimeout time for which an idle connection is kept; 0 keeps none. Set it well below
 *     5 s, after which servers of engines close idle connections
 * @param maxIdlePerWorker maximum number of idle connections per worker and event loop
 * @param maxHeadBytes maximum size of an answer's head in bytes, at least 256; a larger one is a
 *     failure of the worker
 * @param nameTtl time for which the address of a worker's name is valid
 * @param tcpUserTimeout time after which the system ends a connection if the worker acknowledges
 *     nothing; 0 for the system's own limits. NIO cannot set it
 * @param keys bearer tokens for workers
 */
@RecordBuilder
public record UpstreamSettings(
    Duration connectTimeout,
    Duration poolIdleTimeout,
    int maxIdlePerWorker,
    int maxHeadBytes,
    Duration nameTtl,
    Duration tcpUserTimeout,
    EngineKeys keys)
    implements UpstreamSettingsBuilder.With {

  public static final UpstreamSettings DEFAULTS =
      new UpstreamSettings(
          Duration.ofSeconds(10),
          Duration.ofSeconds(2),
          256,
          64 << 10,
          Duration.ofSeconds(10),
          Duration.ofSeconds(30),
          EngineKeys.NONE);

  /**
   * Copy with the parts of {@code next} that a running server can take over. Options of sockets and
   * the time for which names are valid stay.
   */
  public UpstreamSettings withLive(UpstreamSettings next) {
    return next.with().maxHeadBytes(maxHeadBytes).build();
  }

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
    if (tcpUserTimeout.isNegative()) {
      throw new IllegalArgumentException("tcpUserTimeout: " + tcpUserTimeout + " (expected: >= 0)");
    }
    requireNonNull(keys, "keys");
  }
}
