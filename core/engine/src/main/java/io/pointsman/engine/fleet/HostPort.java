package io.pointsman.engine.fleet;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Host and port of a worker's URL. {@code java.net.URI} returns neither for names with underscores,
 * which container networks use.
 *
 * @param host name or address; an IPv6 address in brackets
 * @param port 1 to 65535, or {@link #NONE}
 */
public record HostPort(String host, int port) {
  /** The {@link #port} of a URL without one. */
  public static final int NONE = -1;

  private static final Pattern FORM =
      Pattern.compile("([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._~-]+)?])(?::(\\d{0,9}))?");

  /**
   * Parses {@code authority}. Returns null if it is no host, contains a user, or has a port out of
   * range.
   */
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
   * Parses the host and port of a URL.
   *
   * @throws IllegalArgumentException if the URL has no valid host
   */
  public static HostPort ofUrl(String url) {
    int from = url.indexOf("://") + 3;
    int to = from;
    while (to < url.length() && "/?#".indexOf(url.charAt(to)) < 0) {
      to++;
    }
    HostPort found = from < 3 ? null : of(url.substring(from, to));
    if (found == null) {
      throw new IllegalArgumentException(
          "url: " + WorkerSpec.shown(url) + " (expected: http://host:port)");
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
