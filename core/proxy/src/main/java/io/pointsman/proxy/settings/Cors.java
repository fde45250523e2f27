package io.pointsman.proxy.settings;

import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.wire.RequestHead;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Cross-origin resource sharing, as configured. Immutable.
 *
 * <p>With a list of origins, a page of one of them may use every path. Without a list, a page of
 * any origin may use the paths of workers, and those of the router that permit it ({@link
 * LocalRoutes.Builder#forAnyOrigin}). The worker API and the like are not among them.
 */
public final class Cors {
  private static final String REQUESTED_HEADERS = "access-control-request-headers";

  /** Methods of requests that go to workers. */
  private static final String METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

  /** Headers that are allowed if the requested ones are missing or malformed. */
  private static final String USUAL_HEADERS = "content-type, authorization";

  /** Headers of answers that clients of the API read. */
  private static final String EXPOSED =
      "x-request-id, retry-after, x-should-retry, x-ratelimit-limit-requests,"
          + " x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-ratelimit-limit-tokens,"
          + " x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens";

  /** Maximum number of header names in a preflight request, and their total length in bytes. */
  private static final int MOST_NAMES = 64;

  private static final int MOST_BYTES = 4096;

  private final CorsSettings settings;
  private final LocalRoutes routes;

  public Cors(CorsSettings settings, LocalRoutes routes) {
    this.settings = settings;
    this.routes = routes;
  }

  /** True if the request is a preflight request. */
  public boolean preflight(RequestHead head) {
    return settings.enabled()
        && head.method().equals("OPTIONS")
        && head.first("origin") != null
        && head.first("access-control-request-method") != null;
  }

  /**
   * False if a WebSocket must be refused, because the origin of its page is not in the list.
   * Browsers permit WebSockets to every server, without a preflight request.
   */
  public boolean admitsWebSocket(RequestHead head) {
    return !settings.enabled() || head.first("origin") == null || allowed(head) != null;
  }

  /** Header lines for the answer to {@code head}, each with its line break; usually empty. */
  public String lines(RequestHead head) {
    String allowed = allowed(head);
    if (allowed == null) {
      return "";
    }
    boolean any = anyOrigin();
    return "access-control-allow-origin: "
        + allowed
        + "\r\naccess-control-expose-headers: "
        + (any ? "*" : EXPOSED)
        + "\r\n"
        + (any ? "" : "vary: origin\r\n");
  }

  /**
   * Additional header lines for the answer to the preflight request {@code head}; empty if the
   * origin may not use the path.
   */
  public String preflightLines(RequestHead head) {
    if (allowed(head) == null) {
      return "";
    }
    // The wildcard does not cover Authorization.
    String headers = anyOrigin() ? "*, authorization" : requestedHeaders(head);
    return ("access-control-allow-methods: " + (anyOrigin() ? "*" : methods(head.path())) + "\r\n")
        + ("access-control-allow-headers: " + headers + "\r\n")
        + "access-control-max-age: 3600\r\n";
  }

  private String methods(String path) {
    LocalRoutes.Methods local = routes.at(path);
    return local == null ? METHODS : local.allow() + ", OPTIONS";
  }

  private static String requestedHeaders(RequestHead head) {
    String requested = head.first(REQUESTED_HEADERS);
    List<String> names = requested == null ? List.of() : names(requested);
    return names.isEmpty() ? USUAL_HEADERS : String.join(", ", names);
  }

  /** The names in a list of headers; empty if it is too long or has anything but names. */
  private static List<String> names(String list) {
    List<String> names = new ArrayList<>();
    if (list.length() > MOST_BYTES) {
      return names;
    }
    for (String each : list.split(",", MOST_NAMES + 1)) {
      String name = each.strip();
      if (name.isEmpty() || names.size() == MOST_NAMES || !isToken(name)) {
        return List.of();
      }
      names.add(name);
    }
    return names;
  }

  /** True if all characters are valid in a header's name (RFC 9110, tchar). */
  private static boolean isToken(String name) {
    return name.chars()
        .allMatch(
            c ->
                (c >= '0' && c <= '9')
                    || (c >= 'a' && c <= 'z')
                    || (c >= 'A' && c <= 'Z')
                    || "!#$%&'*+-.^_`|~".indexOf(c) >= 0);
  }

  private boolean anyOrigin() {
    return settings.allowedOrigins().isEmpty();
  }

  /** The permitted origin of {@code head}; null if there is none, or it may not use the path. */
  private @Nullable String allowed(RequestHead head) {
    String origin = settings.enabled() ? head.first("origin") : null;
    if (origin == null) {
      return null;
    }
    if (!anyOrigin()) {
      return settings.allowedOrigins().contains(origin) ? origin : null;
    }
    LocalRoutes.Methods local = routes.at(head.path());
    return local == null || local.forAnyOrigin() ? "*" : null;
  }
}
