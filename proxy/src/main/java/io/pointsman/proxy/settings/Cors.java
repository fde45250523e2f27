package io.pointsman.proxy.settings;

import io.pointsman.proxy.wire.RequestHead;
import org.jspecify.annotations.Nullable;

/** Cross-origin resource sharing, by the settings. Immutable. */
public final class Cors {
  private final CorsSettings settings;

  public Cors(CorsSettings settings) {
    this.settings = settings;
  }

  /**
   * Whether the router answers for origins, so that the workers' own answers to that are dropped.
   */
  public boolean enabled() {
    return settings.enabled();
  }

  /** Whether a request only asks what a page may do. */
  public boolean preflight(RequestHead head) {
    return settings.enabled()
        && head.method().equals("OPTIONS")
        && head.first("origin") != null
        && head.first("access-control-request-method") != null;
  }

  /** Header lines for the answer to {@code head}, each with its line break; mostly none. */
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

  /** The further header lines of the answer to a preflight request. */
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
