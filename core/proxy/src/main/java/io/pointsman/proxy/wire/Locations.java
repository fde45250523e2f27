package io.pointsman.proxy.wire;

import java.util.Locale;

/**
 * Rewrites the URLs with which a worker names itself in {@code Location} and {@code
 * Content-Location}. The result has neither scheme nor authority, so clients resolve it against the
 * URL of their own request, also behind a proxy that ends TLS. Immutable.
 */
public final class Locations {
  private static final String SCHEME_END = "://";

  private final String authority;
  private final String base;

  /**
   * @param workerUrl the worker's URL, with or without a base path
   */
  public Locations(String workerUrl) {
    int start = workerUrl.indexOf(SCHEME_END) + SCHEME_END.length();
    int end = authorityEnd(workerUrl, start);
    authority = authority(workerUrl, start, end);
    String path = workerUrl.substring(end);
    base = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }

  /** The value for the client: {@code value} itself if it does not name the worker. */
  public String forClient(String value) {
    String lower = value.toLowerCase(Locale.ROOT);
    if (value.startsWith("/") && !value.startsWith("//")) {
      return withoutBase(value);
    }
    if (!lower.startsWith("http://") && !lower.startsWith("https://")) {
      return value;
    }
    int start = value.indexOf(SCHEME_END) + SCHEME_END.length();
    int end = authorityEnd(value, start);
    if (!authority(value, start, end).equals(authority)) {
      return value;
    }
    String path = withoutBase(value.substring(end));
    if (path.startsWith("//")) {
      return "/." + path; // two slashes would begin an authority
    }
    return path.startsWith("/") ? path : "/" + path;
  }

  private String withoutBase(String path) {
    boolean below =
        !base.isEmpty()
            && path.startsWith(base)
            && (path.length() == base.length() || "/?#".indexOf(path.charAt(base.length())) >= 0);
    return below ? path.substring(base.length()) : path;
  }

  private static int authorityEnd(String url, int start) {
    int end = start;
    while (end < url.length() && "/?#".indexOf(url.charAt(end)) < 0) {
      end++;
    }
    return end;
  }

  /** Host and port in lower case, with the port that the scheme implies. */
  private static String authority(String url, int start, int end) {
    String hostPort = url.substring(start, end).toLowerCase(Locale.ROOT);
    if (hostPort.lastIndexOf(':') > hostPort.lastIndexOf(']')) {
      return hostPort;
    }
    boolean tls = url.regionMatches(true, 0, "https", 0, "https".length());
    return hostPort + (tls ? ":443" : ":80");
  }
}
