package io.pointsman.plane.haproxy;

import java.time.Duration;

/**
 * Limits of SPOE connections.
 *
 * @param connections maximum number of connections; further ones are closed immediately
 * @param hello timeout for HAProxy's HELLO
 * @param idle maximum idle time of a connection
 */
record SpoeLimits(int connections, Duration hello, Duration idle) {
  /** HAProxy itself closes connections after 50 s of idle time. */
  static final SpoeLimits DEFAULTS =
      new SpoeLimits(1024, Duration.ofSeconds(5), Duration.ofMinutes(5));
}
