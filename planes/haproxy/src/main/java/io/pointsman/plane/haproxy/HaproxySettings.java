package io.pointsman.plane.haproxy;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.tls.ClientTls;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;

/**
 * Settings of a HAProxy that queries a router for each request.
 *
 * @param listen address for clients; port 0: any free port
 * @param router base URL of the router, {@code http://host:port} or {@code https://host:port}
 * @param routerTls certificates for a router with {@code https://}
 * @param apiKey bearer token for this program's own requests to the router; empty: none. If set,
 *     the router is assumed to authenticate clients, and no request goes to a worker without its
 *     consent.
 * @param engineKey bearer token for engines, added to requests without Authorization; empty: none.
 *     HAProxy gets it in its environment, because no file may contain it.
 * @param spoe the router's SPOE address ({@code decide.spoe-address})
 * @param firstToken true: a Lua filter records the time of first tokens, from which policies learn
 * @param executable HAProxy's program
 * @param timeout maximum response time of the router; then HAProxy balances by itself
 * @param ttl lease duration; the lease is renewed while its stream lives
 * @param slots maximum number of workers, 1 to 4096
 * @param maxConnections maximum number of client connections
 */
@RecordBuilder
public record HaproxySettings(
    InetSocketAddress listen,
    URI router,
    ClientTls routerTls,
    String apiKey,
    String engineKey,
    InetSocketAddress spoe,
    boolean firstToken,
    String executable,
    Duration timeout,
    Duration ttl,
    int slots,
    int maxConnections)
    implements HaproxySettingsBuilder.With {

  /** Minimum duration, because a busy process may renew late. */
  private static final Duration SHORTEST_TTL = Duration.ofSeconds(1);

  public HaproxySettings {
    requireNonNull(listen, "listen");
    requireNonNull(spoe, "spoe");
    requireNonNull(routerTls, "routerTls");
    checkRouter(router);
    check("apiKey", apiKey);
    check("engineKey", engineKey);
    if (!timeout.isPositive()) {
      throw new IllegalArgumentException("timeout: " + timeout + " (expected: > 0)");
    }
    if (ttl.compareTo(SHORTEST_TTL) < 0) {
      throw new IllegalArgumentException("ttl: " + ttl + " (expected: >= " + SHORTEST_TTL + ")");
    }
    if (slots < 1 || slots > 4096) {
      throw new IllegalArgumentException("slots: " + slots + " (expected: 1 to 4096)");
    }
    if (maxConnections < 1) {
      throw new IllegalArgumentException("maxConnections: " + maxConnections + " (expected: >= 1)");
    }
  }

  /**
   * Checks the base URL of a router.
   *
   * @throws IllegalArgumentException if it is neither {@code http://host:port} nor {@code
   *     https://host:port}
   */
  public static void checkRouter(URI router) {
    String scheme = router.getScheme();
    boolean http = "http".equals(scheme) || "https".equals(scheme);
    if (!http || router.getHost() == null || router.getPort() <= 0) {
      throw new IllegalArgumentException(
          "router: " + router + " (expected: http://host:port or https://host:port)");
    }
  }

  private static void check(String name, String key) {
    if (key.chars().anyMatch(c -> c <= ' ' || c > '~')) {
      throw new IllegalArgumentException(name + ": (expected: printable ASCII without spaces)");
    }
  }

  /** Default settings. */
  public static HaproxySettings of(InetSocketAddress listen, URI router, InetSocketAddress spoe) {
    return new HaproxySettings(
        listen,
        router,
        ClientTls.OF_JVM,
        "",
        "",
        spoe,
        true,
        "haproxy",
        Duration.ofSeconds(1),
        Duration.ofMinutes(1),
        64,
        4096);
  }

  /** True if no request may go to a worker unless the router has admitted its client. */
  boolean guarded() {
    return !apiKey.isEmpty();
  }

  /** Disables the recording of first tokens. */
  public HaproxySettings withoutFirstToken() {
    return withFirstToken(false);
  }

  /** Omits the keys. */
  @Override
  public String toString() {
    return "HaproxySettings[listen=" + listen + ", router=" + router + ", spoe=" + spoe + "]";
  }
}
