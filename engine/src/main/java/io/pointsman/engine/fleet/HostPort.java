package io.pointsman.engine.fleet;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Host and port of a worker's URL. A {@code java.net.URI} tells neither of a name with an
 * underscore, such as networks of containers give their members.
 *
 * @param host name or address, of IPv6 in brackets
 * @param port 1 to 65535, or {@link #NONE}
 */
public record HostPort(String host, int port) {
  /** The {@link #port} of a URL without one. */
  public static final int NONE = -1;

  private static final Pattern FORM =
      Pattern.compile("([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._~-]+)?])(?::(\\d{0,9}))?");

  /** What {@code authority} names; null if it is no host, or has a user or a port out of range. */
  public static @Nullable HostPort of(@Nullable String authority) {
    Matcher form = FORM.matcher(authority == null ? "" : authority);
    if (!form.matches()) {
      return null;
    }
    String digits = form.group(2);
    int port = digits == null || digits.isEmpty() ? NONE : Integer.parseInt(digits);
    return port == 0 || port > 65_535 ? null : new HostPort(String.valueOf(form.group(1)), port);
  }

  /**
   * Those of a URL.
   *
   * @throws IllegalArgumentException if it has none
   */
  public static HostPort ofUrl(String url) {
    int from = url.indexOf("://") + 3;
    int to = from;
    while (to < url.length() && "/?#".indexOf(url.charAt(to)) < 0) {
      to++;
    }
    HostPort found = from < 3 ? null : of(url.substring(from, to));
    if (found == null) {
      throw new IllegalArgumentException("url: " + url + " (expected: http://host:port)");
    }
    return found;
  }

  /** The port, or {@code standard} if there is none. */
  public int portOr(int standard) {
    return port == NONE ? standard : port;
  }

  /** The host without the brackets of an IPv6 address. */
  public String bareHost() {
    return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
  }
}
