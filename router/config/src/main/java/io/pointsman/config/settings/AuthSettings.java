package io.pointsman.config.settings;

import java.time.Duration;
import java.util.List;

/**
 * Settings of client authentication.
 *
 * @param validationUrls servers that validate client keys; each gets a GET with the client's bearer
 *     token and confirms it with status 200; empty: every client is admitted
 * @param keysFile file with keys of the router; empty: none
 * @param ttl validity of a cached verdict
 */
public record AuthSettings(List<String> validationUrls, String keysFile, Duration ttl) {
  public static final AuthSettings DEFAULTS =
      new AuthSettings(List.of(), "", Duration.ofMinutes(1));

  /** Settings without a file of keys. */
  public AuthSettings(List<String> validationUrls, Duration ttl) {
    this(validationUrls, "", ttl);
  }

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
