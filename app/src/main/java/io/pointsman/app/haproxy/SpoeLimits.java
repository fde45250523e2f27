package io.pointsman.app.haproxy;

import java.time.Duration;

/**
 * What HAProxy's connections may take of the router.
 *
 * @param connections most at once; further ones are closed at once
 * @param hello how long the greeting may take
 * @param idle how long a connection may be silent before it is told that it ends
 */
record SpoeLimits(int connections, Duration hello, Duration idle) {
  /** HAProxy itself closes connections that were idle for 50 s. */
  static final SpoeLimits DEFAULTS =
      new SpoeLimits(1024, Duration.ofSeconds(5), Duration.ofMinutes(5));
}
