package io.pointsman.proxy.local;

import io.netty.util.NetUtil;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The names in {@code Host} under which clients reach a listener. The name of a web page can be
 * made to resolve to the listener's address; a browser then takes the listener for the page's own
 * site. Its requests have that name and the listener's port in {@code Host}. Thread-safe.
 *
 * <p>Without a list, the check applies on the loopback only, and if clients need no key. A request
 * with another port comes from a proxy, which passes the name and the port of its own.
 */
public final class AllowedHosts {
  /** Checks nothing. */
  public static final AllowedHosts ANY = new AllowedHosts(List.of(), false);

  /** An authority: a name, or an address in brackets; and a port, which may be empty. */
  private static final Pattern AUTHORITY = Pattern.compile("(\\[[^\\]]*\\]|[^:\\[]*)(:[0-9]*)?");

  /** Ends of names that public name servers do not have. */
  private static final List<String> PRIVATE = List.of(".localhost", ".local", ".internal");

  private static final int HTTP_PORT = 80;
  private static final int HTTPS_PORT = 443;
  private static final int LONGEST_PORT = 5;

  private final List<String> names;
  private final boolean loopback;

  /** The last authority without a problem. Most requests have the same one. */
  private volatile String accepted = "";

  /**
   * @param names names besides local ones and addresses; if there are any, all others are refused
   * @param loopback true if the listener is on the loopback
   */
  public AllowedHosts(List<String> names, boolean loopback) {
    this.names = names.stream().map(name -> name.toLowerCase(Locale.ROOT)).toList();
    this.loopback = loopback;
  }

  /**
   * The names of a listener with a name of its own, which clients may use too.
   *
   * @param names names besides local ones and addresses; if there are any, all others are refused
   * @param own name or address on which it listens
   * @param loopback true if the listener is on the loopback
   */
  public static AllowedHosts of(List<String> names, String own, boolean loopback) {
    String name = name(own);
    if (names.isEmpty() || name.isEmpty()) {
      return new AllowedHosts(names, loopback);
    }
    List<String> all = new ArrayList<>(names);
    all.add(name);
    return new AllowedHosts(all, loopback);
  }

  /** True if no request is refused, with or without proof of its client. */
  public boolean any() {
    return names.isEmpty() && !loopback;
  }

  /**
   * The problem with a request's {@code Host}; null if there is none.
   *
   * @param authority value of the header; null if it is missing
   * @param keys true if clients need a key, which a page does not have
   * @param port port of the listener
   */
  public @Nullable String problem(@Nullable String authority, boolean keys, int port) {
    if (authority == null
        || authority.equals(accepted)
        || (names.isEmpty() && (!loopback || keys))) {
      return null;
    }
    String name = name(authority);
    boolean known = isAddress(name) || isPrivate(name) || names.contains(name);
    if (known || (names.isEmpty() && !hasPort(authority, port))) {
      accepted = authority;
      return null;
    }
    return "host: "
        + shown(authority)
        + " (expected: an address, a local name, or one of listen.host-names)";
  }

  /** True for a name that a public name server cannot have. A name without a dot is one. */
  private static boolean isPrivate(String name) {
    return !name.isEmpty() && (name.indexOf('.') < 0 || PRIVATE.stream().anyMatch(name::endsWith));
  }

  /** True if the authority names the port, or none and the port is a usual one. */
  private static boolean hasPort(String authority, int port) {
    Matcher parts = AUTHORITY.matcher(authority.strip());
    String written = parts.matches() && parts.group(2) != null ? parts.group(2).substring(1) : "";
    return written.isEmpty()
        ? port == HTTP_PORT || port == HTTPS_PORT
        : written.length() <= LONGEST_PORT && Integer.parseInt(written) == port;
  }

  /** True for an address. IPv6 addresses are in brackets, without a zone. */
  static boolean isAddress(String name) {
    return name.startsWith("[")
        ? name.endsWith("]")
            && name.indexOf('%') < 0
            && NetUtil.isValidIpV6Address(name.substring(1, name.length() - 1))
        : NetUtil.isValidIpV4Address(name);
  }

  /** The name of an authority in lower case, without port and final dot; empty if it is invalid. */
  static String name(String authority) {
    Matcher parts = AUTHORITY.matcher(authority.strip().toLowerCase(Locale.ROOT));
    if (!parts.matches()) {
      return "";
    }
    String name = parts.group(1);
    return name.endsWith(".") ? name.substring(0, name.length() - 1) : name;
  }

  /** A part of a request for a message. */
  static String shown(String text) {
    String cut = text.length() <= 100 ? text : text.substring(0, 100) + "...";
    return cut.replaceAll("[^ -~]", "?");
  }
}
