package io.pointsman.proxy.settings;

import io.pointsman.proxy.wire.RequestHead;
import org.jspecify.annotations.Nullable;

/** Cross-origin resource sharing, as configured. Immutable. */
public final class Cors {
  private final CorsSettings settings;

  public Cors(CorsSettings settings) {
    this.settings = settings;
  }

  /** True if the router answers for origins. The workers' own header lines are then removed. */
  public boolean enabled() {
    return settings.enabled();
  }

  /** True if the request is a preflight request. */
  public boolean preflight(RequestHead head) {
    return settings.enabled()
        && head.method().equals("OPTIONS")
        && head.first("origin") != null
        && head.first("access-control-request-method") != null;
  }

  /** Header lines for the answer to {@code head}, each with its line break; usually empty. */
  public String lines(RequestHead head) {
    String origin = settings.enabled() ? head.first("origin") : null;
    String allowed = origin == null ? null : allowed(origin);
    if (allowed == null) {
      return "";
    }
    String vary = allowed.equals("*") ? "" : "vary: origin\r\n";
    return "access-control-allow-origin: "
        + allowed
        + "\r\naccess-control-expose-headers: "
        + (settings.allowedOrigins().isEmpty() ? "*" : "x-request-id")
        + "\r\n"
        + vary;
  }

  /** Additional header lines for the answer to a preflight request. */
  public String preflightLines() {
    boolean any = settings.allowedOrigins().isEmpty();
    String methods = any ? "*" : "GET, POST, OPTIONS";
    String headers = any ? "*" : "content-type, authorization";
    return ("access-control-allow-methods: " + methods + "\r\n")
        + ("access-control-allow-headers: " + headers + "\r\n")
        + "access-control-max-age: 3600\r\n";
  }

  private @Nullable String allowed(String origin) {
    if (settings.allowedOrigins().isEmpty()) {
      return "*";
    }
    return settings.allowedOrigins().contains(origin) ? origin : null;
  }
}
