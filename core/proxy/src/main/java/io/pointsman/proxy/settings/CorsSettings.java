package io.pointsman.proxy.settings;

import java.util.List;

/**
 * Web pages that may read answers (cross-origin resource sharing). If enabled, the router answers
 * preflight requests. Otherwise they go to workers as other requests do.
 *
 * @param enabled true if the router answers for origins
 * @param allowedOrigins origins, for example {@code https://chat.example.org}; empty means all
 */
public record CorsSettings(boolean enabled, List<String> allowedOrigins) {

  public static final CorsSettings DEFAULTS = new CorsSettings(false, List.of());

  public CorsSettings {
    allowedOrigins = List.copyOf(allowedOrigins);
    for (String origin : allowedOrigins) {
      if (origin.isBlank() || origin.chars().anyMatch(c -> c <= ' ' || c > '~')) {
        throw new IllegalArgumentException(
            "allowedOrigins: '" + origin + "' (expected: scheme://host)");
      }
    }
  }
}
