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
  private final boolean tls;
  private final String base;

  /**
   * @param workerUrl the worker's URL, with or without a base path
   */
  public Locations(String workerUrl) {
    int start = workerUrl.indexOf(SCHEME_END) + SCHEME_END.length();
    int end = authorityEnd(workerUrl, start);
    tls = tls(workerUrl);
    authority = authority(workerUrl, start, end, tls);
    String path = workerUrl.substring(end);
    base = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }

  /** The value for the client: {@code value} itself if it does not name the worker. */
  public String forClient(String value) {
    String lower = value.toLowerCase(Locale.ROOT);
    boolean withoutScheme = value.startsWith("//");
    if (value.startsWith("/") && !withoutScheme) {
      return withoutBase(value);
    }
    if (!withoutScheme && !lower.startsWith("http://") && !lower.startsWith("https://")) {
      return value;
    }
    // Without a scheme it is that of the worker's URL.
    int start = withoutScheme ? 2 : value.indexOf(SCHEME_END) + SCHEME_END.length();
    int end = authorityEnd(value, start);
    boolean encrypted = withoutScheme ? tls : tls(value);
    if (!authority(value, start, end, encrypted).equals(authority)) {
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
  private static String authority(String url, int start, int end, boolean tls) {
    String hostPort = url.substring(start, end).toLowerCase(Locale.ROOT);
    if (hostPort.lastIndexOf(':') > hostPort.lastIndexOf(']')) {
      return hostPort;
    }
    return hostPort + (tls ? ":443" : ":80");
  }

  private static boolean tls(String url) {
    return url.regionMatches(true, 0, "https", 0, "https".length());
  }
}
