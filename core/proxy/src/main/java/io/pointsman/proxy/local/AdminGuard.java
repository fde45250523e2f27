package io.pointsman.proxy.local;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.identity.KeyRing;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.request.RequestHeaders;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Checks of calls to the admin paths: the name in {@code Host}, the origin of a web page, and the
 * key. The first two protect a listener without a key from pages in an operator's browser. A name
 * of a page can resolve to this address; {@code Host} then has that name. Immutable.
 */
public final class AdminGuard {
  /**
   * Header with the key of a proxy that asks for a decision. Its {@code Authorization} is the
   * client's.
   */
  public static final String KEY_HEADER = "x-pointsman-key";

  /** Headers that decide about a call, so it may have each of them once. */
  private static final Set<String> SINGLE =
      Set.of("host", "origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", KEY_HEADER);

  private static final String BEARER = "bearer ";
  private static final String BASIC = "basic ";

  /** Accepts every name that is local or an address, and needs no key. */
  public static final AdminGuard OPEN = new AdminGuard(List.of(), "", "");

  /**
   * The connection of a call.
   *
   * @param certified true if it has a verified certificate
   * @param loopback true if it came to an address that only this machine reaches
   * @param ofListener true if it came to the admin listener; else it came to the client port
   */
  public record CallConnection(boolean certified, boolean loopback, boolean ofListener) {}

  private final List<String> names;
  private final byte[] adminKey;
  private final byte[] planeKey;
  private final KeyRing ring;
  private final boolean closed;
  private final boolean certificates;
  private final boolean nearListener;
  private final boolean nearClientPort;

  /**
   * @param names names in {@code Host} and {@code Origin} besides local ones and addresses
   * @param adminKey key for all paths; empty: none is needed
   * @param planeKey key for the paths of proxies; empty: none is needed, unless {@code adminKey} is
   *     set
   */
  public AdminGuard(List<String> names, String adminKey, String planeKey) {
    this(names, adminKey, planeKey, KeyRing.NONE, false, false);
  }

  /**
   * @param names names in {@code Host} and {@code Origin} besides local ones and addresses
   * @param adminKey key for all paths; empty: none is needed, unless {@code ring} has one
   * @param planeKey key for the paths of proxies; empty: none is needed, unless one for all paths
   *     is, or {@code ring} has one
   * @param ring further keys
   * @param closed true if a key is needed although there may be none at the moment
   * @param certificates true if certificates of callers stand in place of a key. Without a key a
   *     call then needs the certificate of its own connection: while the settings change, a
   *     connection can have other TLS than the settings that this guard belongs to
   */
  public AdminGuard(
      List<String> names,
      String adminKey,
      String planeKey,
      KeyRing ring,
      boolean closed,
      boolean certificates) {
    nearListener = false;
    nearClientPort = false;
    this.certificates = certificates;
    this.ring = requireNonNull(ring, "ring");
    this.closed = closed;
    this.names = names.stream().map(name -> name.toLowerCase(Locale.ROOT)).toList();
    this.adminKey = requireNonNull(adminKey, "adminKey").getBytes(StandardCharsets.UTF_8);
    this.planeKey = requireNonNull(planeKey, "planeKey").getBytes(StandardCharsets.UTF_8);
  }

  private AdminGuard(AdminGuard from, boolean nearListener, boolean nearClientPort) {
    names = from.names;
    adminKey = from.adminKey;
    planeKey = from.planeKey;
    ring = from.ring;
    closed = from.closed;
    certificates = from.certificates;
    this.nearListener = nearListener;
    this.nearClientPort = nearClientPort;
  }

  /**
   * A guard that admits a call without a key only on a connection of this machine, or to the admin
   * listener with a certificate. While the settings change, and after it, a connection to an
   * earlier address can be open.
   *
   * @param onListener true if this holds for connections to the admin listener
   * @param onClientPort true if this holds for connections to the client port
   */
  public AdminGuard onlyNear(boolean onListener, boolean onClientPort) {
    return new AdminGuard(this, onListener, onClientPort);
  }

  /** True if the call needs a key for all paths. */
  private boolean needsAdmin(CallConnection connection) {
    return adminKey.length > 0
        || closed
        || ring.guards(KeyRole.ADMIN)
        || (certificates && !connection.certified)
        || isFar(connection);
  }

  private boolean isFar(CallConnection connection) {
    if (connection.loopback) {
      return false;
    }
    // Connections to the client port count as certified, although they need no certificate.
    return connection.ofListener
        ? nearListener && !(certificates && connection.certified)
        : nearClientPort;
  }

  private boolean needsPlane() {
    return planeKey.length > 0 || ring.guards(KeyRole.PLANE);
  }

  /**
   * The problem with the call's Host or origin; null if there is none.
   *
   * @param page true if the call gets a page that other pages may link to
   */
  public @Nullable String problem(RequestHeaders headers, boolean page) {
    String repeated = repeated(headers);
    if (repeated != null) {
      return repeated + ": repeated (expected: one)";
    }
    String host = headers.first("host");
    if (host != null && !known(host)) {
      return "host: "
          + AllowedHosts.shown(host)
          + " (expected: an address, localhost, or one of admin.names)";
    }
    String site = headers.first("sec-fetch-site");
    boolean otherSite =
        site != null && !site.equalsIgnoreCase("same-origin") && !site.equalsIgnoreCase("none");
    String origin = headers.first("origin");
    if ((otherSite && !(page && followsLink(headers))) || (origin != null && !own(origin, host))) {
      return "origin: "
          + (origin == null ? "another site" : AllowedHosts.shown(origin))
          + " (expected: a page of this listener, or of one of admin.names)";
    }
    return null;
  }

  /** A header that occurs several times but may occur only once; null if there is none. */
  private static @Nullable String repeated(RequestHeaders headers) {
    Set<String> seen = new HashSet<>();
    Set<String> again = new HashSet<>();
    headers.forEach(
        (name, _) -> {
          String lower = name.toString().toLowerCase(Locale.ROOT);
          if (SINGLE.contains(lower) && !seen.add(lower)) {
            again.add(lower);
          }
        });
    return again.isEmpty() ? null : again.iterator().next();
  }

  /** True if the browser shows the answer as a page, which the page with the link cannot read. */
  private static boolean followsLink(RequestHeaders headers) {
    return "navigate".equals(headers.first("sec-fetch-mode"))
        && "document".equals(headers.first("sec-fetch-dest"));
  }

  /** True for an address, a local name, and a configured name; the port does not count. */
  private boolean known(String authority) {
    String name = AllowedHosts.name(authority);
    return AllowedHosts.isAddress(name)
        || name.equals("localhost")
        || name.endsWith(".localhost")
        || names.contains(name);
  }

  /** True for the origin of the listener's own pages, and of pages of a configured name. */
  private boolean own(String origin, @Nullable String host) {
    int scheme = origin.indexOf("://");
    if (scheme < 0) {
      return false;
    }
    String authority = origin.substring(scheme + 3).toLowerCase(Locale.ROOT);
    return names.contains(AllowedHosts.name(authority))
        || (host != null && authority.equals(host.strip().toLowerCase(Locale.ROOT)));
  }

  /**
   * The caller; null if its key is missing or wrong.
   *
   * @param forPlanes true if proxies may use the path
   */
  public @Nullable Caller caller(
      RequestHeaders headers, boolean forPlanes, CallConnection connection) {
    Caller caller = byKey(headers.first(KEY_HEADER), false);
    if (caller == null) {
      caller = byKey(key(headers.first("authorization")), true);
    }
    if (caller == null) {
      boolean needsKey = needsAdmin(connection) || (forPlanes && needsPlane());
      return needsKey ? null : Caller.OPEN;
    }
    boolean mayAll = caller.kind() == Caller.Kind.ADMIN || !needsAdmin(connection);
    return mayAll || forPlanes ? caller : null;
  }

  /** True if the call has a valid key of the router, of any role. */
  public boolean knows(RequestHeaders headers) {
    String own = headers.first(KEY_HEADER);
    String bearer = key(headers.first("authorization"));
    return (own != null && ring.holderOf(own) != null)
        || (bearer != null && ring.holderOf(bearer) != null);
  }

  private @Nullable Caller byKey(@Nullable String given, boolean byAuthorization) {
    if (given == null) {
      return null;
    }
    byte[] bytes = given.getBytes(StandardCharsets.UTF_8);
    if (same(adminKey, bytes)) {
      return new Caller(Caller.Kind.ADMIN, byAuthorization);
    }
    if (same(planeKey, bytes)) {
      return new Caller(Caller.Kind.PLANE, byAuthorization);
    }
    KeyHolder holder = ring.holderOf(given);
    if (holder == null) {
      return null;
    }
    return switch (holder.role()) {
      case ADMIN -> new Caller(Caller.Kind.ADMIN, byAuthorization, holder.identity());
      case PLANE -> new Caller(Caller.Kind.PLANE, byAuthorization, holder.identity());
      case CLIENT -> null;
    };
  }

  private static boolean same(byte[] key, byte[] given) {
    return key.length > 0 && MessageDigest.isEqual(key, given);
  }

  /** The key of a bearer token, or the password of a browser (RFC 7617); null if there is none. */
  private static @Nullable String key(@Nullable String authorization) {
    String lower = authorization == null ? "" : authorization.toLowerCase(Locale.ROOT);
    if (authorization == null) {
      return null;
    }
    if (lower.startsWith(BEARER)) {
      return authorization.substring(BEARER.length()).strip();
    }
    return lower.startsWith(BASIC) ? password(authorization.substring(BASIC.length())) : null;
  }

  private static @Nullable String password(String credentials) {
    try {
      byte[] decoded = Base64.getDecoder().decode(credentials.strip());
      String pair = new String(decoded, StandardCharsets.UTF_8);
      int colon = pair.indexOf(':');
      return colon < 0 ? null : pair.substring(colon + 1);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }
}
