package io.pointsman.proxy.settings;

import java.util.List;

/**
 * Which web pages may read answers (cross-origin resource sharing). When on, preflight requests are
 * answered by the router; when off, they travel to the workers as any other request.
 *
 * @param enabled whether the router answers for origins at all
 * @param allowedOrigins origins such as {@code https://chat.example.org}; empty means any
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
