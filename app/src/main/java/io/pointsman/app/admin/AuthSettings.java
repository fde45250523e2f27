package io.pointsman.app.admin;

import java.time.Duration;
import java.util.List;

/**
 * Who may send requests.
 *
 * @param validationUrls servers that are asked whether a client's key is valid: a GET with the
 *     client's bearer token, which 200 confirms; empty lets everybody in
 * @param ttl how long a verdict is used before it is asked for again
 */
public record AuthSettings(List<String> validationUrls, Duration ttl) {
  public static final AuthSettings DEFAULTS = new AuthSettings(List.of(), Duration.ofMinutes(1));

  public AuthSettings {
    validationUrls = List.copyOf(validationUrls);
    for (String url : validationUrls) {
      if (!url.startsWith("http://") && !url.startsWith("https://")) {
        throw new IllegalArgumentException(
            "validationUrls: " + url + " (expected: http:// or https://)");
      }
    }
    if (!ttl.isPositive()) {
      throw new IllegalArgumentException("ttl: " + ttl + " (expected: > 0)");
    }
  }
}
