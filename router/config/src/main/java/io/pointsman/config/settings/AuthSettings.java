package io.pointsman.config.settings;

import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Settings of client authentication.
 *
 * @param validationUrls servers that validate client keys; each gets a GET with the client's bearer
 *     token and confirms it with status 200; empty: every client is admitted
 * @param keysFile file with keys of the router; empty: none
 * @param keysEnv name of an environment variable with the text of such a file; empty: none
 * @param ttl validity of a cached verdict
 */
public record AuthSettings(
    List<String> validationUrls, String keysFile, String keysEnv, Duration ttl) {
  public static final AuthSettings DEFAULTS =
      new AuthSettings(List.of(), "", "", Duration.ofMinutes(1));

  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

  /** Settings without keys of the router. */
  public AuthSettings(List<String> validationUrls, Duration ttl) {
    this(validationUrls, "", "", ttl);
  }

  public AuthSettings {
    validationUrls = List.copyOf(validationUrls);
    for (String url : validationUrls) {
      if (!url.startsWith("http://") && !url.startsWith("https://")) {
        throw new IllegalArgumentException(
            "validationUrls: " + url + " (expected: http:// or https://)");
      }
    }
    if (!keysEnv.isEmpty() && !VARIABLE.matcher(keysEnv).matches()) {
      throw new IllegalArgumentException(
          "keysEnv: (expected: the name of an environment variable, not its value)");
    }
    if (!ttl.isPositive()) {
      throw new IllegalArgumentException("ttl: " + ttl + " (expected: > 0)");
    }
  }

  /** True if the router has keys of its own. */
  public boolean ownKeys() {
    return !keysFile.isEmpty() || !keysEnv.isEmpty();
  }

  /** True if the proofs of clients are of the same kinds, so each owner of files stays the same. */
  public boolean provesAs(AuthSettings other) {
    return ownKeys() == other.ownKeys()
        && validationUrls.isEmpty() == other.validationUrls.isEmpty();
  }

  /** True if clients need a key. */
  public boolean keysNeeded() {
    return ownKeys() || !validationUrls.isEmpty();
  }
}
