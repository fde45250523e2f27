package io.pointsman.app.haproxy;

import static java.util.Objects.requireNonNull;

import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;

/**
 * A HAProxy that asks a router for each request.
 *
 * @param listen where clients come in
 * @param router base URL of the router, {@code http://host:port}
 * @param executable HAProxy's program
 * @param timeout how long the router may take to answer before HAProxy balances by itself
 * @param ttl how long a place is held for a stream that nobody reports the end of
 * @param slots servers that HAProxy has room for; 1 to 4096
 * @param maxConnections of clients, at once
 */
public record HaproxySettings(
    InetSocketAddress listen,
    URI router,
    String executable,
    Duration timeout,
    Duration ttl,
    int slots,
    int maxConnections) {

  public HaproxySettings {
    requireNonNull(listen, "listen");
    if (!"http".equals(router.getScheme()) || router.getHost() == null || router.getPort() <= 0) {
      throw new IllegalArgumentException("router: " + router + " (expected: http://host:port)");
    }
    if (!timeout.isPositive() || !ttl.isPositive()) {
      throw new IllegalArgumentException(
          "timeout and ttl: " + timeout + ", " + ttl + " (expected: > 0)");
    }
    if (slots < 1 || slots > 4096) {
      throw new IllegalArgumentException("slots: " + slots + " (expected: 1 to 4096)");
    }
    if (maxConnections < 1) {
      throw new IllegalArgumentException("maxConnections: " + maxConnections + " (expected: >= 1)");
    }
  }

  /** With what suits most. */
  public static HaproxySettings of(InetSocketAddress listen, URI router) {
    return new HaproxySettings(
        listen, router, "haproxy", Duration.ofSeconds(1), Duration.ofMinutes(10), 64, 4096);
  }
}
