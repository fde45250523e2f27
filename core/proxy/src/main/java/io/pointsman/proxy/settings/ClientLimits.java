package io.pointsman.proxy.settings;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.identity.ClientQuota;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;

/**
 * Limits that keep one client from using the shares of others. A client is an IPv4 address, or an
 * IPv6 network of 64 bits. Trusted proxies have no such limits, because many clients use them.
 *
 * @param maxConnections maximum number of connections of one client; 0 for half of all
 * @param bodyShare maximum share of the memory for request bodies that one client uses, above 0
 * @param minUploadRate minimum rate in bytes per second at which a request's body arrives; slower
 *     ones get status 408. 0 for none
 * @param uploadGrace time over which the rate is measured
 * @param evictIdle minimum time without a request after which a connection may be closed, if places
 *     or descriptors are short; 0 to close none
 * @param searchesPerSecond maximum number of searches per second, by all clients, for stored
 *     responses of unknown workers; also of searches in progress
 * @param searchesUnowned true if clients with a name may use a stored response that nobody is known
 *     to have created
 * @param quota limits of each client by its key, certificate or address, for each model
 */
@RecordBuilder
public record ClientLimits(
    int maxConnections,
    double bodyShare,
    long minUploadRate,
    Duration uploadGrace,
    Duration evictIdle,
    int searchesPerSecond,
    boolean searchesUnowned,
    ClientQuota quota)
    implements ClientLimitsBuilder.With {
  /** No limits except on connections. */
  public static final ClientLimits NONE =
      new ClientLimits(0, 1, 0, Duration.ofSeconds(20), Duration.ofSeconds(2), Integer.MAX_VALUE);

  public static final ClientLimits DEFAULTS =
      new ClientLimits(0, 0.5, 512, Duration.ofSeconds(20), Duration.ofSeconds(2), 50);

  /** Limits without those for each model. */
  public ClientLimits(
      int maxConnections,
      double bodyShare,
      long minUploadRate,
      Duration uploadGrace,
      Duration evictIdle,
      int searchesPerSecond) {
    this(
        maxConnections,
        bodyShare,
        minUploadRate,
        uploadGrace,
        evictIdle,
        searchesPerSecond,
        false,
        ClientQuota.NONE);
  }

  public ClientLimits {
    requireNonNull(quota, "quota");
    requireNonNull(uploadGrace, "uploadGrace");
    if (evictIdle.isNegative()) {
      throw new IllegalArgumentException("evictIdle: " + evictIdle + " (expected: >= 0)");
    }
    if (maxConnections < 0) {
      throw new IllegalArgumentException("maxConnections: " + maxConnections + " (expected: >= 0)");
    }
    if (!(bodyShare > 0 && bodyShare <= 1)) {
      throw new IllegalArgumentException("bodyShare: " + bodyShare + " (expected: above 0, to 1)");
    }
    if (minUploadRate < 0) {
      throw new IllegalArgumentException("minUploadRate: " + minUploadRate + " (expected: >= 0)");
    }
    if (!uploadGrace.isPositive()) {
      throw new IllegalArgumentException("uploadGrace: " + uploadGrace + " (expected: > 0)");
    }
    if (searchesPerSecond < 0) {
      throw new IllegalArgumentException(
          "searchesPerSecond: " + searchesPerSecond + " (expected: >= 0)");
    }
  }
}
